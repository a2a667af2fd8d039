"""Group commit: appends of one process to one log share commits, with one commit in flight.

There is no background task: one of the waiting callers leads. It starts a flight (linger, seal what has gathered,
commit) and, when its own records are durable, hands the lead to the next who waits. A cancelled leader hands over
too, so that the records of others in its flight are not lost; a flight that nobody waits for is cancelled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flowli.cairn.commit import Position
from flowli.cairn.errors import OutcomeUnknown
from flowli.world import World

__all__ = ["Batcher", "GroupCommit"]

_MAX_BYTES = 4 * 1024 * 1024
_MAX_RECORDS = 5_000
_CONTENDED_S = 0.01


class Batcher(Protocol):
    """What writes one batch."""

    async def attempt(self, records: Sequence[bytes], writer: str) -> Position | None:
        """Append at the remembered tail: the position after the batch, or None when another commit came first."""


@dataclass(eq=False, slots=True)
class _Waiter:
    records: Sequence[bytes]
    writer: str
    woken: asyncio.Future[None]
    outcome: Position | BaseException | None = None
    left: bool = field(default=False)


class GroupCommit:
    """Gathers appends and commits them one batch at a time, in the order in which they came.

    Args:
        batcher: writes a batch.
        world: the clock and the chance.
        linger_s: how long a batch gathers before it is sealed; doubles with each commit that another process wins and
            falls back when one is won.
        max_linger_s: the longest.
    """

    def __init__(self, batcher: Batcher, world: World, linger_s: float, max_linger_s: float) -> None:
        self._batcher = batcher
        self._world = world
        self._base_s = self._linger_s = linger_s
        self._max_s = max_linger_s
        self._pending: deque[_Waiter] = deque()
        self._batch: list[_Waiter] = []
        self._leader: _Waiter | None = None
        self._flight: asyncio.Task[None] | None = None

    async def append(self, records: Sequence[bytes], writer: str) -> Position:
        """Append encoded records and return the position after the last of them, once they are durable."""
        waiter = _Waiter(records, writer, asyncio.get_running_loop().create_future())
        self._pending.append(waiter)
        if self._leader is None:
            self._leader = waiter
        abandoned: asyncio.Task[None] | None = None
        try:
            while waiter.outcome is None:
                if self._leader is waiter:
                    await self._lead()
                else:
                    await waiter.woken
        finally:
            if waiter.outcome is None:
                waiter.left = True
                if waiter in self._pending:
                    self._pending.remove(waiter)
            # Also when the lead was handed to this caller in the moment of its cancellation.
            if self._leader is waiter:
                abandoned = self._hand_over()
            if abandoned is not None:
                await asyncio.wait({abandoned})
        if isinstance(waiter.outcome, BaseException):
            raise waiter.outcome
        return waiter.outcome

    async def _lead(self) -> None:
        if self._flight is None:
            self._flight = asyncio.get_running_loop().create_task(self._fly())
        # Waiting for a task does not cancel it: a leader that goes leaves the flight to the next.
        await asyncio.wait({self._flight})

    def _hand_over(self) -> asyncio.Task[None] | None:
        """Give the lead to somebody who still waits; returns the flight if it was cancelled for want of anybody."""
        waiting = [one for one in (*self._batch, *self._pending) if one.outcome is None and not one.left]
        if waiting:
            self._leader = waiting[0]
            if not waiting[0].woken.done():
                waiting[0].woken.set_result(None)
            return None
        self._leader = None
        if self._flight is not None:
            self._flight.cancel()
        return self._flight

    async def _fly(self) -> None:
        losses = 0
        try:
            if self._linger_s > 0:
                await self._world.sleep(self._linger_s)
            while True:
                self._seal()
                if not self._batch:
                    return
                records = [record for waiter in self._batch for record in waiter.records]
                end = await self._batcher.attempt(records, self._batch[0].writer)
                if end is not None:
                    self._linger_s = self._base_s
                    self._deliver(end, len(records))
                    return
                losses += 1
                doubled = self._linger_s * 2 or (_CONTENDED_S if losses > 1 else 0.0)
                self._linger_s = min(doubled, self._max_s)
                if self._linger_s > 0:
                    await self._world.sleep(self._linger_s * self._world.random().uniform(0.5, 1.0))
        except asyncio.CancelledError:
            self._fail(OutcomeUnknown("The append was interrupted", "Read the log and append again what is missing"))
            raise
        except Exception as error:
            self._fail(error)
        finally:
            self._batch = []
            self._flight = None

    def _seal(self) -> None:
        """Take what has gathered into the batch: one writer, up to the limits; always at least one append."""
        size = sum(len(record) for waiter in self._batch for record in waiter.records)
        count = sum(len(waiter.records) for waiter in self._batch)
        while self._pending:
            first = self._pending[0]
            size += sum(map(len, first.records))
            count += len(first.records)
            if self._batch and (size > _MAX_BYTES or count > _MAX_RECORDS or first.writer != self._batch[0].writer):
                return
            self._batch.append(self._pending.popleft())

    def _deliver(self, end: Position, count: int) -> None:
        seq = end.seq - count
        for waiter in self._batch:
            seq += len(waiter.records)
            self._finish(waiter, Position(end.commit, seq))

    def _fail(self, error: Exception) -> None:
        for waiter in self._batch:
            self._finish(waiter, error)

    def _finish(self, waiter: _Waiter, outcome: Position | Exception) -> None:
        waiter.outcome = outcome
        if not waiter.woken.done():
            waiter.woken.set_result(None)
