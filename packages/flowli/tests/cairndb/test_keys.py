"""The key layout is public: these keys are what is in the buckets of users."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowli.cairn.keys import check_key
from flowli.domain import keys
from flowli.domain.errors import InvalidName
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp

EID = UUID("0197a1b2-0000-7000-8000-000000000001")
T = Timestamp.parse("2026-01-31T23:59:59.000001Z")
LATER = Timestamp.parse("2026-02-01T00:00:00.000000Z")
BY = Provenance(Actor(ActorKind.SYSTEM, "s"), Site("w"), T)
TASK = Task("finance", TaskKind.RESUME, EID, T, BY, "message:orders:7", priority=7)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (keys.CONTROL_LOG, "wf"),
        (keys.journal_log(EID), f"wf.exec.{EID}"),
        (keys.channel_log("orders"), "wf.ch.orders"),
        (keys.channel_log(f"{EID}.x"), f"wf.ch.{EID}.x"),
        (keys.meta(EID), f"wf/exec/{EID}/meta"),
        (keys.lease(EID), f"wf/exec/{EID}/lease"),
        (keys.dispatch("order:17@eu"), "wf/dispatch/order:17@eu"),
        (keys.claim("slot:2026"), "wf/claims/slot:2026"),
        (keys.ready(TASK), f"wf/queues/finance/ready/07/{T}/RESUME:{EID}:message:orders:7"),
        (
            keys.delayed(replace(TASK, not_before=LATER)),
            f"wf/queues/finance/delayed/{LATER}/07/RESUME:{EID}:message:orders:7",
        ),
        (keys.dead(TASK, LATER), f"wf/queues/finance/dead/{LATER}/07/RESUME:{EID}:message:orders:7"),
        (keys.settings("finance"), "wf/queues/finance/limits/settings"),
        (keys.rate("finance"), "wf/queues/finance/limits/rate"),
        (keys.slots("finance"), "wf/queues/finance/limits/slots"),
        (keys.marker("orders", EID), f"wf/waits/orders/{EID}"),
        (keys.marker(f"{EID}.x", EID), f"wf/waits/{EID}.x/{EID}"),
        (keys.timer(Timer(T, EID, "root/sleep#1")), f"wf/timers/{T}-{EID}-5c3a4c8d0a6e4f3b"),
        (keys.archive(EID), f"wf/archive/{EID}.msgpack"),
        (keys.evidence(EID, "root/charge#1.1.3/log"), f"wf/evidence/{EID}/root/charge%231.1.3/log"),
    ],
)
def test_layout(key: str, expected: str) -> None:
    if key.startswith(keys.TIMERS):
        key, expected = key[:-16], expected[:-16]
    assert key == expected


def test_every_key_starts_with_wf_and_is_one_that_stores_take() -> None:
    """STO-9."""
    made = [keys.meta(EID), keys.ready(TASK), keys.evidence(EID, "a/b"), keys.archive(EID), keys.claim("x")]
    for key in made:
        assert check_key(key).startswith("wf/")


BAD_PARTS = ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "%2e%2e%2f", " ", "ä", "\u2024\u2024", "a\n", "x" * 500]


@pytest.mark.parametrize("name", BAD_PARTS)
@pytest.mark.parametrize(
    "build",
    [keys.dispatch, keys.claim, keys.ready_prefix, keys.settings, keys.channel_log, keys.marker_prefix],
    ids=lambda build: build.__name__,
)
def test_names_that_could_leave_their_place_are_refused(build: object, name: str) -> None:
    with pytest.raises(InvalidName):
        build(name)  # type: ignore[operator]


@pytest.mark.parametrize("channel", [f"{EID}.", f"{EID}.a.b", "a.b", ".a", f"{str(EID).upper()}.a", f"{EID}a.b"])
def test_a_dot_in_a_channel_stands_only_after_an_execution(channel: str) -> None:
    with pytest.raises(InvalidName, match="channel"):
        keys.channel_log(channel)


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_texts_make_different_parts_and_none_leaves_its_place(one: str, other: str) -> None:
    try:
        parts = keys.safe_part(one), keys.safe_part(other)
    except InvalidName:
        assert any(0xD800 <= ord(char) <= 0xDFFF for char in one + other)
        return
    assert (parts[0] == parts[1]) == (one == other)
    for part in parts:
        assert "/" not in part
        assert check_key(f"wf/{part}", 10_000)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: "" not in name.split("/")))
def test_names_of_evidence_come_back(name: str) -> None:
    key = keys.evidence(EID, name)
    assert keys.evidence_name(EID, key) == name
    for cut in range(len(name) + 1):
        if "" not in name[:cut].split("/")[:-1]:
            assert key.startswith(keys.evidence_prefix(EID, name[:cut]))


def test_the_instants_in_keys_are_read_back() -> None:
    delayed = replace(TASK, not_before=LATER)
    assert keys.delayed_instant("finance", keys.delayed(delayed)) == LATER
    assert keys.timer_instant(keys.timer(Timer(T, EID, "root"))) == T
    assert keys.queue_of(keys.ready(TASK)) == ("finance", "ready")
    assert keys.same_task(keys.delayed(delayed), TASK)


def test_a_very_long_task_key_still_has_a_key_of_its_own() -> None:
    first, second = replace(TASK, key="x" * 2000 + "1"), replace(TASK, key="x" * 2000 + "2")
    assert keys.ready(first) != keys.ready(second)
    assert check_key(keys.ready(first))


@pytest.mark.parametrize("priority", [-1, 100])
def test_priorities_have_two_digits(priority: int) -> None:
    with pytest.raises(InvalidName, match="priority"):
        keys.ready(replace(TASK, priority=priority))


def test_keys_sort_as_the_queue_does() -> None:
    tasks = [replace(TASK, priority=p, cause_at=at) for p in (0, 7, 50, 99) for at in (T, LATER)]
    assert sorted(map(keys.ready, tasks)) == list(map(keys.ready, tasks))
