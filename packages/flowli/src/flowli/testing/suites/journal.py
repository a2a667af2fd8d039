"""``JournalSuite``: the contract of ``flowli.domain.ports.Journal`` as tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.entries import (
    START,
    ExecutionStarted,
    ExecutionSuspended,
    FrameFailed,
    FrameStarted,
    JournalBody,
    JournalEntry,
    Position,
    UnknownBody,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Eid
from flowli.domain.ports import Appended, Journal, Overtaken, Ports
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.testing.suites.port_suite import T0, PortSuite, after_s, by, entry, new_eid, record

__all__ = ["JournalSuite"]


async def _append(
    journal: Journal, eid: Eid, entries: Sequence[JournalEntry], after: Position = START, epoch: int = 1
) -> Position:
    done = await journal.append(eid, entries, after=after, epoch=epoch, writer="w-1")
    assert isinstance(done, Appended), done
    return done.position


def _values(entries: Sequence[JournalEntry]) -> list[object]:
    return [getattr(entry.body, "value", None) for entry in entries]


class JournalSuite(PortSuite):
    """Order, the fence, races, reading."""

    async def test_a_journal_that_was_never_written_is_empty(self, ports: Ports) -> None:
        found = await ports.journal.read(new_eid())
        assert (found.entries, found.position) == ((), START)

    async def test_entries_come_back_in_order_numbered_from_1(self, ports: Ports) -> None:
        """JRN-1, JRN-2."""
        eid = new_eid()
        first = await _append(ports.journal, eid, [entry("a"), entry("b")])
        second = await _append(ports.journal, eid, [entry("c")], first)
        found = await ports.journal.read(eid)
        assert _values(found.entries) == ["a", "b", "c"]
        assert [e.seq for e in found.entries] == [1, 2, 3]
        assert found.position == second
        assert (first, second) == (Position(1, 2), Position(2, 3))

    async def test_a_read_goes_on_after_a_position(self, ports: Ports) -> None:
        eid = new_eid()
        first = await _append(ports.journal, eid, [entry("a"), entry("b")])
        second = await _append(ports.journal, eid, [entry("c"), entry("d")], first)
        found = await ports.journal.read(eid, after=first)
        assert [(e.seq, v) for e, v in zip(found.entries, _values(found.entries), strict=True)] == [(3, "c"), (4, "d")]
        assert found.position == second
        nothing = await ports.journal.read(eid, after=second)
        assert (nothing.entries, nothing.position) == ((), second)

    async def test_entries_come_back_equal(self, ports: Ports) -> None:
        eid, by_1 = new_eid(), by(epoch=1)
        waits = (
            OnChannel(f"{eid}.x"),
            OnTimer(T0),
            OnChild(new_eid()),
            OnStep("root/a:k", 2),
            OnOperator("parked", "é"),
        )
        bodies: list[JournalBody] = [
            ExecutionStarted(record(eid)),
            FrameStarted("root/a#1", FrameKind.STEP, "a", "ab" * 32, 1, {"deadline": str(T0), "n": [1, {"x": None}]}),
            FrameFailed("root/a#1", 1, ErrorInfo("builtins.ValueError", "no\n\u2028", "Traceback"), True, after_s(5)),
            ExecutionSuspended(waits, 1),
            UnknownBody("frame.moved", {"from": "newer", "at": 3, "tag": "x"}),
        ]
        written = [JournalEntry(body, replace(by_1, at=after_s(n), attempt=n)) for n, body in enumerate(bodies)]
        await _append(ports.journal, eid, written)
        found = await ports.journal.read(eid)
        assert [replace(e, seq=0) for e in found.entries] == written

    async def test_payloads_come_back_equal(self, ports: Ports) -> None:
        eid = new_eid()
        payload: Data = {
            "": None,
            "ü": ["🦀", "\0", "a\nb"],
            "n": [0, -(2**63), 2**64 - 1, 0.1, -1e300, True, False],
            "e": [[], {}],
        }
        await _append(ports.journal, eid, [entry(payload), entry(1), entry(1.0), entry(True)])
        back = _values((await ports.journal.read(eid)).entries)
        assert back == [payload, 1, 1.0, True]
        assert [type(value) for value in back] == [dict, int, float, bool]

    async def test_an_append_at_a_taken_place_is_overtaken_and_writes_nothing(self, ports: Ports) -> None:
        eid = new_eid()
        end = await _append(ports.journal, eid, [entry("theirs", epoch=2), entry("too", epoch=2)], epoch=2)
        lost = await ports.journal.append(eid, [entry("mine")], after=START, epoch=1, writer="w-1")
        assert isinstance(lost, Overtaken)
        assert (lost.epoch, _values(lost.entries), lost.position) == (2, ["theirs", "too"], end)
        assert [e.seq for e in lost.entries] == [1, 2]
        assert _values((await ports.journal.read(eid)).entries) == ["theirs", "too"]

    async def test_overtaken_tells_the_commit_that_stands_there_and_not_a_later_one(self, ports: Ports) -> None:
        eid = new_eid()
        first = await _append(ports.journal, eid, [entry("1", epoch=1)])
        second = await _append(ports.journal, eid, [entry("2", epoch=2)], first, epoch=2)
        await _append(ports.journal, eid, [entry("3", epoch=3)], second, epoch=3)
        lost = await ports.journal.append(eid, [entry("mine")], after=first, epoch=1, writer="w-1")
        assert isinstance(lost, Overtaken)
        assert (lost.epoch, _values(lost.entries), lost.position) == (2, ["2"], second)

    async def test_a_late_commit_of_a_former_owner_is_shown_to_the_next_one(self, ports: Ports) -> None:
        eid = new_eid()
        await _append(ports.journal, eid, [entry("late", epoch=1)], epoch=1)
        lost = await ports.journal.append(eid, [entry("mine", epoch=2)], after=START, epoch=2, writer="w-2")
        assert isinstance(lost, Overtaken)
        assert lost.epoch == 1
        await _append(ports.journal, eid, [entry("mine", epoch=2)], lost.position, epoch=2)
        assert _values((await ports.journal.read(eid)).entries) == ["late", "mine"]

    async def test_the_same_append_twice_is_written_once(self, ports: Ports) -> None:
        eid, mine = new_eid(), [entry("mine")]
        await _append(ports.journal, eid, mine)
        again = await ports.journal.append(eid, mine, after=START, epoch=1, writer="w-1")
        assert isinstance(again, Overtaken)
        assert _values((await ports.journal.read(eid)).entries) == ["mine"]

    async def test_of_many_appends_after_one_position_exactly_one_is_appended(self, ports: Ports) -> None:
        """OWN-3."""
        eid = new_eid()
        start = await _append(ports.journal, eid, [entry("start")])
        racing = (
            ports.journal.append(eid, [entry(n, epoch=n)], after=start, epoch=n, writer=f"w-{n}") for n in range(1, 17)
        )
        done = await asyncio.gather(*racing)
        winners = [n for n, outcome in enumerate(done, 1) if isinstance(outcome, Appended)]
        assert len(winners) == 1
        for outcome in done:
            assert isinstance(outcome, Appended) or (outcome.epoch, _values(outcome.entries)) == (winners[0], winners)
        assert _values((await ports.journal.read(eid)).entries) == ["start", *winners]

    async def test_two_writers_that_go_on_after_each_other_lose_nothing(self, ports: Ports) -> None:
        eid = new_eid()

        async def write(name: str, epoch: int) -> None:
            end, todo = START, [f"{name}{n}" for n in range(10)]
            while todo:
                done = await ports.journal.append(eid, [entry(todo[0])], after=end, epoch=epoch, writer=name)
                end = done.position
                if isinstance(done, Appended):
                    todo.pop(0)

        await asyncio.gather(write("a", 1), write("b", 2))
        found = await ports.journal.read(eid)
        values = [str(value) for value in _values(found.entries)]
        for name in "ab":
            assert [value for value in values if value.startswith(name)] == [f"{name}{n}" for n in range(10)]
        assert [e.seq for e in found.entries] == list(range(1, 21))
        assert found.position == Position(20, 20)

    async def test_a_reader_never_sees_part_of_a_commit(self, ports: Ports) -> None:
        """JRN-3."""
        eid, done = new_eid(), False

        async def write() -> None:
            nonlocal done
            end = START
            for n in range(10):
                end = await _append(ports.journal, eid, [entry(n), entry(n), entry(n)], end)
            done = True

        async def read() -> None:
            while not done:
                found = await ports.journal.read(eid)
                assert len(found.entries) == found.position.seq == 3 * found.position.commit

        await asyncio.gather(write(), read(), read())

    async def test_a_commit_may_hold_many_entries(self, ports: Ports) -> None:
        eid = new_eid()
        await _append(ports.journal, eid, [entry(n, fid=f"root/a#{n}") for n in range(500)])
        found = await ports.journal.read(eid)
        assert _values(found.entries) == list(range(500))
        assert found.position == Position(1, 500)

    async def test_journals_do_not_touch_each_other(self, ports: Ports) -> None:
        one, other = new_eid(), new_eid()
        await _append(ports.journal, one, [entry("one")])
        await _append(ports.journal, other, [entry("other")])
        await ports.journal.delete(one)
        assert (await ports.journal.read(one)).entries == ()
        assert _values((await ports.journal.read(other)).entries) == ["other"]

    async def test_deleting_twice_is_deleting_once(self, ports: Ports) -> None:
        eid = new_eid()
        await _append(ports.journal, eid, [entry("one")])
        await ports.journal.delete(eid)
        await ports.journal.delete(eid)
        await ports.journal.delete(new_eid())
        assert (await ports.journal.read(eid)).entries == ()
