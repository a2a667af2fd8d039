"""``Subscription``: every change of every execution, at least once, in order per execution, to one of many processes.

It stands on the control log and on a named lease, whose state is the cursor:

1. Take the lease. Who has it not waits and looks again, so that a process that dies is followed by another one.
2. Read the control log behind the cursor.
3. Give each change that passes the filter to the handler; those of one execution one after another, those of
   different executions beside each other. *Crash here*: the next holder gives them again.
4. A change that the handler refuses to the end is put among the dead letters: an announcement in the control log.
   *Crash after it*: it is given again, and may be put there again.
5. Move the cursor. *Crash before*: as in 3.

The control log tells what was announced. The change of a process that died right after it had committed to a journal
is announced by the sweeper if it is the latest one of its execution; an earlier one may never be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

import structlog

from flowli.domain.data import Data
from flowli.domain.entries import Announced, ControlEntry
from flowli.domain.errors import BackendError, LeaseLost, UsageError
from flowli.domain.ids import Eid, check_key
from flowli.domain.retry import RetryPolicy
from flowli.runtime.observe.changes import change_of
from flowli.runtime.observe.events import Change, ExecutionChanged
from flowli.runtime.observe.hold import Hold
from flowli.runtime.services import Services

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["DEAD_TOPIC", "SUBSCRIPTION_TOPIC", "Delivered", "Subscription"]

_log = structlog.get_logger("flowli.subscriptions")
SUBSCRIPTION_TOPIC, DEAD_TOPIC = "subscription", "subscription_dead"
_PAGE = 500
_PATIENT = RetryPolicy(max_attempts=8, backoff=timedelta(seconds=1), max_backoff=timedelta(minutes=1))


@dataclass(frozen=True, slots=True)
class Delivered:
    """One change, as a handler gets it.

    Attributes:
        seq: of its entry in the control log; the same at each delivery, so that it can be recognised.
        change: what changed. ``workflow`` and ``queue`` are read from the record where the entry does not tell them.
        attempt: counts the deliveries by this process.
    """

    seq: int
    change: ExecutionChanged
    attempt: int = 1


Handler: TypeAlias = Callable[[Delivered], Awaitable[object]]
"""Takes one change. It must bear to be given the same one again; raising means that it was not taken."""


class Subscription:
    """See the module's docstring.

    Args:
        name: a business key; every process that runs a subscription of this name is of one group.
        handler: is given the changes.
        changes: only these; None for all.
        workflows: only those of these workflows; None for all.
        retry: how often a change is given to a handler that raises, before it is put among the dead letters.
        ttl_s: how long after the death of the process that delivers another one goes on.
        concurrency: executions whose changes are delivered at once.

    Raises:
        InvalidName, UsageError: it cannot work like that.

    Example:
        >>> paused = Subscription("tell-ops", tell, changes=[Change.PAUSED, Change.FAILED])
        >>> await paused.run(engine)
    """

    def __init__(
        self,
        name: str,
        handler: Handler,
        *,
        changes: Iterable[Change] | None = None,
        workflows: Iterable[str] | None = None,
        retry: RetryPolicy = _PATIENT,
        ttl_s: float = 30.0,
        concurrency: int = 8,
    ) -> None:
        self.name = check_key("subscription", name)
        if not ttl_s > 0 or concurrency < 1:
            raise UsageError(f"ttl_s is {ttl_s} and concurrency {concurrency}; both must be positive")
        self._handler = handler
        self._changes = None if changes is None else frozenset(changes)
        self._workflows = None if workflows is None else frozenset(workflows)
        self._retry = retry
        self._ttl_s = ttl_s
        self._concurrency = concurrency
        self._records: dict[Eid, tuple[str, str, str]] = {}
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """End ``run`` after what is being delivered."""
        self._stop.set()

    async def run(self, engine: Engine, *, poll_s: float | None = None) -> None:
        """Deliver until ``stop``; while another process does, wait for its end.

        Args:
            poll_s: how often it looks for changes; None leaves it to the backend.
        """
        pause_s = engine.ports.poll_hint_s if poll_s is None else poll_s
        while not self._stop.is_set():
            try:
                held = await self._turn(engine.services, pause_s)
            except (BackendError, LeaseLost) as error:
                _log.warning("a subscription goes on later", subscription=self.name, error=str(error))
                held = False
            await self._pause(engine.services, pause_s if held else self._ttl_s / 3)

    async def deliver(self, engine: Engine) -> int | None:
        """Deliver what there is now; how many changes that were, or None while another process delivers.

        Raises:
            LeaseLost: another process took over meanwhile.
        """
        hold = await self._begin(engine.services)
        if hold is None:
            return None
        delivered = await self._kept(hold, self._all(engine.services, hold))
        await hold.release()
        return delivered

    async def _turn(self, services: Services, pause_s: float) -> bool:
        hold = await self._begin(services)
        if hold is None:
            return False

        async def follow() -> int:
            total = 0
            while not self._stop.is_set():
                total += await self._all(services, hold)
                await self._pause(services, pause_s)
            return total

        await self._kept(hold, follow())
        await hold.release()
        return True

    async def _begin(self, services: Services) -> Hold | None:
        hold = await Hold.take(services, self.name, self._ttl_s)
        if hold is not None and not hold.begun:
            await self._announce(services, SUBSCRIPTION_TOPIC, {"name": self.name})
            await hold.advance(hold.position, hold.done)
        return hold

    async def _kept(self, hold: Hold, work: Awaitable[int]) -> int:
        """What ``work`` gives, while the lease is renewed beside it; it is stopped when the lease is lost."""
        working, keeping = asyncio.ensure_future(work), asyncio.ensure_future(hold.keep())
        try:
            await asyncio.wait((working, keeping), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            keeping.result()
            raise AssertionError("the lease is kept until it is lost")
        finally:
            working.cancel()
            keeping.cancel()
            await asyncio.wait((working, keeping))

    async def _all(self, services: Services, hold: Hold) -> int:
        delivered = 0
        while not self._stop.is_set():
            found = await services.ports.control.read(after=hold.position, limit=_PAGE)
            fresh = [entry for entry in found.entries if entry.seq > hold.done]
            delivered += await self._page(services, hold, fresh)
            if found.position != hold.position:
                await hold.advance(found.position, max(hold.done, *(entry.seq for entry in fresh), 0))
            if found.caught_up:
                break
        return delivered

    async def _page(self, services: Services, hold: Hold, entries: Iterable[ControlEntry]) -> int:
        """Give the changes among ``entries``: those of one execution in the order of its journal."""
        lines: dict[Eid, list[Delivered]] = {}
        for entry in entries:
            changed = change_of(entry)
            if changed is None:
                continue
            if changed.change is Change.CREATED:
                self._records[changed.eid] = (changed.workflow, changed.version, changed.queue)
            if self._changes is None or changed.change in self._changes:
                lines.setdefault(changed.eid, []).append(Delivered(entry.seq, changed))
        room = asyncio.Semaphore(self._concurrency)

        async def line(eid: Eid, changes: list[Delivered]) -> int:
            async with room:
                return await self._line(services, hold, eid, changes)

        working = [asyncio.ensure_future(line(eid, changes)) for eid, changes in lines.items()]
        try:
            return sum(await asyncio.gather(*working))
        finally:  # of a lost lease: nothing more is delivered
            for one in working:
                one.cancel()
            self._records.clear()

    async def _line(self, services: Services, hold: Hold, eid: Eid, changes: list[Delivered]) -> int:
        workflow, version, queue = await self._record(services, eid)
        if self._workflows is not None and workflow not in self._workflows:
            return 0
        # whoever was in doubt has announced it twice
        once = {(one.change.change, one.change.journal_seq): one for one in reversed(changes)}
        for one in sorted(once.values(), key=_order):
            known = replace(one.change, workflow=workflow, version=one.change.version or version, queue=queue)
            await self._give(services, hold, replace(one, change=known))
        return len(once)

    async def _record(self, services: Services, eid: Eid) -> tuple[str, str, str]:
        """Workflow, version and queue; empty if the execution is archived by now."""
        if eid not in self._records:
            record = await services.ports.executions.get(eid)
            if record is None:
                return "", "", ""
            self._records[eid] = (record.workflow, record.version, record.queue)
        return self._records[eid]

    async def _give(self, services: Services, hold: Hold, one: Delivered) -> None:
        while True:
            hold.check()
            try:
                await self._handler(one)
                return
            except Exception as error:
                if not self._retry.retries(error, one.attempt):
                    await self._set_aside(services, one, error)
                    return
                delay = self._retry.delay(one.attempt, services.world.random().random)
                _log.warning("a change was not taken", subscription=self.name, seq=one.seq, error=repr(error))
            await services.world.sleep(delay.total_seconds())
            one = replace(one, attempt=one.attempt + 1)

    async def _set_aside(self, services: Services, one: Delivered, error: Exception) -> None:
        said: Data = {
            "name": self.name,
            "eid": str(one.change.eid),
            "change": one.change.change.value,
            "seq": one.seq,
            "attempts": one.attempt,
            "error": f"{type(error).__name__}: {error}"[:1000],
        }
        _log.error("a change was put among the dead letters", subscription=self.name, seq=one.seq, error=repr(error))
        await self._announce(services, DEAD_TOPIC, said, one.change.eid)

    async def _announce(self, services: Services, topic: str, said: Data, eid: Eid | None = None) -> None:
        await services.ports.control.append([ControlEntry(Announced(topic, said, eid), services.provenance())])

    async def _pause(self, services: Services, seconds: float) -> None:
        stopped = asyncio.ensure_future(self._stop.wait())
        timer = asyncio.ensure_future(services.world.sleep(seconds))
        try:
            await asyncio.wait((stopped, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            timer.cancel()


def _order(one: Delivered) -> tuple[int, int, int]:
    last = one.change.change in (Change.ARCHIVED, Change.ERASED)
    return int(last), one.change.journal_seq, one.seq
