"""Renewal of leases, beside the loop whose life it vouches for.

Every lease is renewed each third of its ttl by a thread with its own event loop and its own clients, so that a step
that blocks the worker's loop does not lose its execution. A backend that lives on one loop (``Ports.fork`` is None)
is renewed from there.

After it has been acquired, a lease is written only here. The worker reads what this thread learns: the deadline,
requests of operators, the loss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from flowli.domain.errors import BackendError, LeaseLost
from flowli.domain.ids import Fid
from flowli.domain.ports import Lease, LeaseRequest, Ports
from flowli.domain.tasks import TaskLease
from flowli.runtime.progress import Progress, in_state, of_state
from flowli.world import Background, World

__all__ = ["LeaseGuard", "Renewals", "TaskGuard"]

_log = structlog.get_logger("flowli.renewal")
_MANY = 16


@dataclass(eq=False)
class _Guard:
    """What the worker may believe of a lease it holds.

    Attributes:
        deadline_s: when it expires at the latest, on the clock that counts suspended time.
        lost: somebody else has it.
        strict: what is done under it is stopped when it may be over.
        on_lost: called once, on the worker's loop.
        soon: do not wait for the third of the ttl with the next renewal.
    """

    world: World
    ttl_s: float
    deadline_s: float
    on_lost: Callable[[], None] = lambda: None
    lost: bool = False
    strict: bool = False
    renewing: bool = False
    soon: bool = False

    @property
    def due(self) -> bool:
        """Whether a third of the ttl has passed since the last renewal, or there is something to be written."""
        return self.soon or self.world.boottime_s() >= self.deadline_s - self.ttl_s * 2 / 3

    @property
    def expired(self) -> bool:
        """Whether this process's own clock says that the lease may be over (margin: a tenth of the ttl)."""
        return self.lost or self.world.boottime_s() >= self.deadline_s - self.ttl_s / 10

    def check(self) -> None:
        """Call it right before an effect, with no await between.

        Raises:
            LeaseLost: the lease is lost or may be over.
        """
        if self.expired:
            raise LeaseLost("the lease is lost, or was not renewed in time")


@dataclass(eq=False)
class LeaseGuard(_Guard):
    """Guard of an execution's lease.

    Attributes:
        applied: ids of requests whose entries are durable; the next renewal removes them.
        on_requests: called on the worker's loop with the requests found at a renewal.
    """

    lease: Lease = field(kw_only=True)
    strict: bool = True
    on_requests: Callable[[tuple[LeaseRequest, ...]], None] = lambda requests: None
    applied: set[str] = field(default_factory=set)
    _said: dict[Fid, Progress] = field(init=False)
    _news: bool = False

    def __post_init__(self) -> None:
        self._said = of_state(self.lease.state)

    def said(self, progress: Progress) -> None:
        """A step has reported progress, perhaps from a thread; the next renewal writes it."""
        self._said[progress.fid] = progress
        self._news = True

    def progress_of(self, fid: Fid) -> Progress | None:
        """What a step said last."""
        return self._said.get(fid)

    def step_ended(self, fid: Fid) -> None:
        """The progress of a step is of no interest any more."""
        if self._said.pop(fid, None) is not None:
            self._news = True

    def done_with(self, request: str) -> None:
        """A request is dealt with, durably: it is removed by the next renewal, soon if there are many."""
        self.applied.add(request)
        self.soon |= len(self.applied) >= _MANY

    @property
    def epoch(self) -> int:
        """The epoch under which this process acts."""
        return self.lease.epoch

    async def renew(self, ports: Ports) -> None:
        """One renewal."""
        done, news = frozenset(self.applied), self._news
        self._news = False
        state = self.lease.state if isinstance(self.lease.state, dict) else {}
        shown = in_state(state, dict(self._said)) if news else None
        try:
            self.lease = await ports.ownership.renew(self.lease, applied=done, state=shown)
        except BackendError:
            self._news |= news
            raise
        self.applied -= done


@dataclass(eq=False)
class TaskGuard(_Guard):
    """Guard of a task's lease.

    Attributes:
        alive: the next renewal sets the deaths of the task back to 0.
        vouched: that was asked for.
        beside: done after each renewal, with the ports of the thread that renews.
    """

    lease: TaskLease = field(kw_only=True)
    alive: bool = False
    vouched: bool = False
    beside: Callable[[Ports], Awaitable[None]] | None = None

    async def renew(self, ports: Ports) -> None:
        """One renewal."""
        alive = self.alive
        self.lease = await ports.queue.renew(self.lease, alive=alive)
        self.alive &= not alive
        if self.beside is not None:
            await self.beside(ports)

    def vouch(self) -> None:
        """The task has come on: its deaths no longer count. The next renewal says so, and it is soon."""
        self.alive = self.soon = self.vouched = True


class Renewals:
    """Renews every guard that is watched.

    Args:
        tick_s: how often the guards are looked at; a small part of the shortest ttl.
    """

    def __init__(self, ports: Ports, world: World, *, tick_s: float) -> None:
        self._ports = ports
        self._world = world
        self._tick_s = tick_s
        # in the order of watching, so that a run can be repeated
        self._guards: dict[LeaseGuard | TaskGuard, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._background: Background | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; call it on the worker's loop."""
        self._loop = asyncio.get_running_loop()
        if self._ports.fork is None:
            self._task = asyncio.create_task(self._run(self._ports))
        else:
            fork = self._ports.fork
            self._background = self._world.background("flowli-renewal", lambda: self._run(fork()))

    async def stop(self) -> None:
        """End; nothing is renewed any more."""
        if self._background is not None:
            self._background.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def watch(self, guard: LeaseGuard | TaskGuard) -> None:
        """Renew ``guard`` from now on."""
        self._guards[guard] = None

    def forget(self, guard: LeaseGuard | TaskGuard) -> None:
        """Let ``guard`` expire or be released."""
        self._guards.pop(guard, None)

    async def _run(self, ports: Ports) -> None:
        under_way: set[asyncio.Task[None]] = set()
        while True:
            for guard in tuple(self._guards):
                if guard.strict and guard.expired and not guard.lost:
                    # renewals hang or fail: the worker stops before others may begin
                    guard.lost = True
                    self._tell(guard.on_lost)
                if guard.due and not guard.renewing and not guard.lost:
                    guard.renewing = True
                    task = asyncio.ensure_future(self._renew(ports, guard))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
            await self._world.sleep(self._tick_s)

    async def _renew(self, ports: Ports, guard: LeaseGuard | TaskGuard) -> None:
        begun_s = self._world.boottime_s()
        guard.soon = False
        try:
            await guard.renew(ports)
        except LeaseLost:
            if guard in self._guards:
                guard.lost = True
                self._tell(guard.on_lost)
        except BackendError as error:
            # one failed renewal is no loss: the deadline decides, and the next tick tries again
            _log.warning("a renewal failed", error=str(error))
        else:
            guard.deadline_s = begun_s + guard.ttl_s
            if isinstance(guard, LeaseGuard) and guard.lease.requests:
                requests = guard.lease.requests
                self._tell(lambda: guard.on_requests(requests))
        finally:
            guard.renewing = False

    def _tell(self, call: Callable[[], None]) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)
