"""Names, keys and ids are checked at the edge: what passes can stand in a key, what does not says why."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.domain.channels import global_channel, scoped_channel
from flowli.domain.errors import InvalidName
from flowli.domain.ids import check_key, check_name, child_eid, frame_id, parse_eid, role_eid
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.timers import Timer
from flowli.evidence import evidence_name, frame_part
from flowli.testing.strategies import fids, names, timestamps
from flowli.timestamp import Timestamp

quick = settings(max_examples=200, deadline=None)
BAD = ["", ".", "..", "a.b", "a/b", "../x", "a b", "ä", "a\0", "a\n", "\n", "a\u200b", "x" * 129, "%2e", "a;b"]


@quick
@given(names())
def test_a_name_passes_unchanged(name: str) -> None:
    assert check_name("queue", name) == name
    assert check_key("dispatch key", name) == name
    assert global_channel(name) == name


@pytest.mark.parametrize("name", BAD, ids=repr)
def test_what_is_no_name_is_refused_and_shown(name: str) -> None:
    with pytest.raises(InvalidName, match=re.escape(f"queue {name!r} is not a name: use 1 to 128")):
        check_name("queue", name)
    with pytest.raises(InvalidName, match="channel"):
        global_channel(name)
    with pytest.raises(InvalidName, match="channel"):
        scoped_channel(UUID(int=1), name)


@quick
@given(st.text(max_size=150))
def test_whatever_passes_is_safe_in_a_key(text: str) -> None:
    try:
        check_key("key", text)
    except InvalidName:
        return
    assert text.isascii()
    assert re.fullmatch(r"[A-Za-z0-9._@=+~:-]+", text)
    assert not text.startswith(".")


@pytest.mark.parametrize("key", ["order:17@eu", "a.b-c_d", "x=1+2~3", "A" * 200, "-"])
def test_business_keys(key: str) -> None:
    assert check_key("dispatch key", key) == key


@pytest.mark.parametrize("key", [".", ".a", "a/b", "a b", "", "x" * 201, "é", "a\n"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidName, match="dispatch key"):
        check_key("dispatch key", key)


@quick
@given(st.uuids())
def test_an_eid_is_read_as_it_is_written(eid: UUID) -> None:
    assert parse_eid(str(eid)) == eid
    assert parse_eid(str(eid).upper()) == eid
    with pytest.raises(InvalidName, match=str(eid)):
        parse_eid(eid.hex)


@pytest.mark.parametrize("text", ["", "x", "0197a1b2", "0197a1b2-0000-7000-8000-00000000000g", None, 3])
def test_what_is_no_eid_is_refused(text: str) -> None:
    with pytest.raises(InvalidName, match="is not an execution id"):
        parse_eid(text)


@quick
@given(st.uuids(), st.uuids(), fids(), fids())
def test_one_child_for_one_frame_of_one_parent(one: UUID, other: UUID, fid: str, other_fid: str) -> None:
    """STA-7."""
    same = (one, fid) == (other, other_fid)
    assert (child_eid(one, fid) == child_eid(other, other_fid)) == same
    assert child_eid(one, fid).version == 5


def test_leases_with_names_have_ids_of_their_own() -> None:
    assert role_eid("sweeper") == role_eid("sweeper")
    assert role_eid("sweeper") != role_eid("retention")
    with pytest.raises(InvalidName, match="lease name"):
        role_eid("a/b")


def test_frame_ids_are_paths() -> None:
    """RPL-3."""
    assert frame_id("root", "charge", count=2) == "root/charge#2"
    assert frame_id("root/saga#1", "charge", key="INV-7") == "root/saga#1/charge:INV-7"


@quick
@given(fids(), fids())
def test_no_two_frames_share_a_name_in_evidence(one: str, other: str) -> None:
    assert (frame_part(one) == frame_part(other)) == (one == other)
    assert re.fullmatch(r"[A-Za-z0-9_:=~-]+", frame_part(one))


def test_names_of_evidence() -> None:
    assert evidence_name("root/charge#1", 2, 3, "log") == "root~charge=1.2.3/log"
    for fid in ("", "a b", "root/../x", "root/é#1"):
        with pytest.raises(InvalidName, match="frame id"):
            frame_part(fid)
    for what in ("", ".", "..", "a/b", ".hidden", "x" * 129):
        with pytest.raises(InvalidName, match="cannot name evidence"):
            evidence_name("root", 1, 1, what)


BY = Provenance(Actor(ActorKind.SYSTEM, "t"), Site("t"), Timestamp(0))


def test_a_task_is_named_by_kind_execution_and_cause() -> None:
    eid = UUID(int=1)
    assert Task("q", TaskKind.START, eid, Timestamp(0), BY).task_id == f"START:{eid}"
    assert Task("q", TaskKind.RESUME, eid, Timestamp(0), BY, "message:x:3").task_id == f"RESUME:{eid}:message:x:3"


@quick
@given(st.lists(st.tuples(timestamps(), st.uuids(), fids()), max_size=8))
def test_timer_ids_sort_by_due_time(parts: list[tuple[Timestamp, UUID, str]]) -> None:
    timers = [Timer(*part) for part in parts]
    by_id = sorted(timers, key=lambda timer: timer.timer_id)
    assert [timer.due_at for timer in by_id] == sorted(timer.due_at for timer in timers)
    assert len({timer.timer_id for timer in timers}) == len(set(parts))
