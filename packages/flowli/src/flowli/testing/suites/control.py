"""``ControlLogSuite``: the contract of ``flowli.domain.ports.ControlLog`` as tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.entries import (
    START,
    Announced,
    AttributesSet,
    ControlBody,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    OperatorActed,
    Position,
    StatusChanged,
    TaskEnqueued,
    UnknownBody,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import ExecutionStatus, Origin
from flowli.domain.ids import FrameRef
from flowli.domain.ports import ControlLog, Ports
from flowli.domain.waits import OnOperator, OnTimer
from flowli.testing.suites.port_suite import T0, PortSuite, after_s, by, new_eid
from flowli.world import SYSTEM

__all__ = ["ControlLogSuite"]


def _said(*values: Data) -> list[ControlEntry]:
    return [ControlEntry(Announced("said", value), by()) for value in values]


def _values(entries: Sequence[ControlEntry]) -> list[Data]:
    return [entry.body.data for entry in entries if isinstance(entry.body, Announced)]


async def _all(control: ControlLog, limit: int = 10_000) -> list[ControlEntry]:
    """Everything, read in stretches."""
    entries: list[ControlEntry] = []
    at, caught_up = START, False
    while not caught_up:
        part = await control.read(after=at, limit=limit)
        assert part.entries or part.caught_up, "a reader that is not caught up gets something"
        entries.extend(part.entries)
        at, caught_up = part.position, part.caught_up
    return entries


class ControlLogSuite(PortSuite):
    """One total order that every reader sees."""

    async def test_an_empty_log(self, ports: Ports) -> None:
        found = await ports.control.read()
        assert (found.entries, found.position, found.caught_up) == ((), START, True)

    async def test_appends_come_back_in_order_numbered_from_1(self, ports: Ports) -> None:
        assert await ports.control.append(_said("a", "b")) == 2
        assert await ports.control.append(_said("c")) == 3
        found = await ports.control.read()
        assert _values(found.entries) == ["a", "b", "c"]
        assert [entry.seq for entry in found.entries] == [1, 2, 3]
        assert found.caught_up
        assert found.position.seq == 3

    async def test_a_read_goes_on_after_a_position(self, ports: Ports) -> None:
        await ports.control.append(_said("a", "b"))
        first = await ports.control.read()
        await ports.control.append(_said("c"))
        second = await ports.control.read(after=first.position)
        assert [(entry.seq, value) for entry, value in zip(second.entries, _values(second.entries), strict=True)] == [
            (3, "c")
        ]
        third = await ports.control.read(after=second.position)
        assert (third.entries, third.position, third.caught_up) == ((), second.position, True)

    async def test_entries_come_back_equal(self, ports: Ports) -> None:
        eid = new_eid()
        waits = (OnTimer(T0), OnOperator("paused", "why", "sha256:abc"))
        origin, parent = Origin("fork", new_eid(), "root/a#1"), FrameRef(new_eid(), "root/b#2")
        error = ErrorInfo("app.Broken", "it is")
        bodies: list[ControlBody] = [
            ExecutionCreated(eid, "order", "1", "ab" * 32, "default", T0, 3, parent, "order:17", origin),
            StatusChanged(eid, ExecutionStatus.SUSPENDED, "execution.suspended", 2, 9, waits, "reason"),
            StatusChanged(eid, ExecutionStatus.FAILED, "execution.failed", 3, 12, error=error, version="2"),
            TaskEnqueued(eid, "agents", "DELEGATE", f"DELEGATE:{eid}:k"),
            Announced("topic", {"n": [1, None]}, eid, "root/announce#1"),
            AttributesSet(eid, {"customer": "ü", "total": 1.5, "old": None}),
            ExecutionArchived(eid),
            OperatorActed("cancel", eid, "asked to", "key-1", "cd" * 32),
            UnknownBody("execution.moved", {"to": "somewhere", "seq": 4}),
        ]
        written = [ControlEntry(body, by(after_s(n))) for n, body in enumerate(bodies)]
        await ports.control.append(written)
        assert [replace(entry, seq=0) for entry in await _all(ports.control)] == written

    async def test_concurrent_appends_are_all_there_once_and_whole(self, ports: Ports) -> None:
        async def say(n: int) -> tuple[int, int]:
            return n, await ports.control.append(_said(f"{n}.0", f"{n}.1", f"{n}.2"))

        told = await asyncio.gather(*(say(n) for n in range(20)))
        entries = await _all(ports.control)
        assert [entry.seq for entry in entries] == list(range(1, 61))
        values = _values(entries)
        for n, last in told:
            assert values[last - 3 : last] == [f"{n}.0", f"{n}.1", f"{n}.2"]

    async def test_appends_of_one_writer_keep_their_order(self, ports: Ports) -> None:
        async def say(name: str) -> None:
            for n in range(5):
                await ports.control.append(_said(f"{name}{n}"))

        await asyncio.gather(say("a"), say("b"), say("c"))
        values = [str(value) for value in _values(await _all(ports.control))]
        for name in "abc":
            assert [value for value in values if value.startswith(name)] == [f"{name}{n}" for n in range(5)]

    async def test_reading_in_stretches_gives_the_same(self, ports: Ports) -> None:
        for n in range(7):
            await ports.control.append(_said(*(f"{n}.{m}" for m in range(3))))
        whole = await _all(ports.control)
        assert len(whole) == 21
        for limit in (1, 2, 5, 21, 100):
            assert await _all(ports.control, limit) == whole

    async def test_a_stretch_is_about_as_long_as_asked_for(self, ports: Ports) -> None:
        for n in range(6):
            await ports.control.append(_said(n))
        part = await ports.control.read(limit=2)
        assert 1 <= len(part.entries) < 6
        assert not part.caught_up
        assert part.position == Position(part.position.commit, len(part.entries))

    async def test_a_follower_sees_every_entry_once(self, ports: Ports) -> None:
        seen: list[Data] = []

        async def follow() -> None:
            at = START
            while len(seen) < 30:
                part = await ports.control.read(after=at)
                seen.extend(_values(part.entries))
                at = part.position
                await SYSTEM.sleep(0)  # a backend may answer without letting others have their turn

        async def say(name: str) -> None:
            for n in range(10):
                await ports.control.append(_said(f"{name}{n}"))

        await asyncio.gather(follow(), say("a"), say("b"), say("c"))
        assert len(seen) == len(set(map(str, seen))) == 30
        assert seen == _values(await _all(ports.control))

    async def test_what_was_kept_stands_for_what_was_compacted(self, ports: Ports) -> None:
        for n in range(6):
            await ports.control.append(_said(f"{n}a", f"{n}b"))
        early = await ports.control.read(limit=1)
        middle = await ports.control.read(after=early.position, limit=3)
        kept = [entry for entry in middle.entries if str(_values([entry])[0]).endswith("b")]
        assert await ports.control.compact(middle.position, kept) == middle.position
        await ports.control.drop(middle.position)
        rest = [entry for entry in await _all(ports.control) if entry.seq > middle.position.seq]
        assert [entry.seq for entry in await _all(ports.control)] == [entry.seq for entry in [*kept, *rest]]
        assert len(rest) == 12 - middle.position.seq
        late = await ports.control.read(after=Position(early.position.commit, kept[0].seq))
        assert late.entries[: len(kept) - 1] == tuple(kept[1:])
        assert await ports.control.append(_said("next")) == 13
        assert _values(await _all(ports.control))[-1] == "next"

    async def test_a_compaction_never_goes_back(self, ports: Ports) -> None:
        for n in range(4):
            await ports.control.append(_said(n))
        two = (await ports.control.read(limit=2)).position
        four = (await ports.control.read()).position
        assert await ports.control.compact(four, []) == four
        assert await ports.control.compact(two, []) == four
        await ports.control.drop(two)
        await ports.control.drop(four)
        assert await _all(ports.control) == []
        assert (await ports.control.read(after=four)).caught_up

    async def test_nothing_is_deleted_beyond_what_the_caller_waited_for(self, ports: Ports) -> None:
        for n in range(4):
            await ports.control.append(_said(n))
        everything = await _all(ports.control)
        two = (await ports.control.read(limit=2)).position
        four = (await ports.control.read()).position
        await ports.control.compact(four, everything[-1:])
        await ports.control.drop(two)
        found = await _all(ports.control)
        assert found[-1] == everything[-1]
