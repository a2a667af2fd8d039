"""``VirtualLoop``: an asyncio event loop on virtual time, on which whole processes can be frozen and killed.

Time passes only when nothing is ready; then it jumps to the next timer. Nothing ready and no timer is a deadlock,
hence a finding. Every callback belongs to the node in whose context it was made: the callbacks of a frozen node wait
for its thaw, those of a dead one are never run, not even its ``finally`` blocks.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar, TypeVarTuple

__all__ = ["CURRENT", "Deadlock", "Process", "VirtualLoop", "alone"]


class Process(Protocol):
    """What the loop asks of a node."""

    dead: bool
    frozen: bool
    parked: list[asyncio.Handle]


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

CURRENT: contextvars.ContextVar[Process | None] = contextvars.ContextVar("flowli_sim_process", default=None)
"""The node to which the running callback belongs."""


class Deadlock(Exception):
    """Nothing is ready and no timer is pending, but the main task has not ended."""


class _NoSelector:
    """Stands where a real loop waits for sockets: waiting makes virtual time pass."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Deadlock("nothing is ready and no timer is pending")
        if timeout > 0:
            self._loop.pass_time(timeout)
        return []


class _Ready(deque[asyncio.Handle]):
    """The ready queue; callbacks of frozen nodes are parked, those of dead ones dropped."""

    def append(self, handle: asyncio.Handle) -> None:
        process = _process(handle)
        if process is None or not (process.dead or process.frozen):
            super().append(handle)
        elif not process.dead:
            process.parked.append(handle)

    def popleft(self) -> asyncio.Handle:
        handle = super().popleft()
        process = _process(handle)
        if process is None or not (process.dead or process.frozen):
            return handle
        if not process.dead:
            process.parked.append(handle)
        return _CANCELLED


class VirtualLoop(asyncio.BaseEventLoop):
    """See the module's docstring.

    Args:
        start_s: the virtual time at the beginning.
    """

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, start_s: float = 0.0) -> None:
        super().__init__()
        self._now_s = start_s
        self._dropped = False
        self._kept: list[asyncio.Task[Any]] = []
        self._selector = _NoSelector(self)
        self._ready = _Ready()
        self._clock_resolution = 1e-9
        self.problems: list[dict[str, Any]] = []
        self.dead_processes: set[str] = set()
        self.set_exception_handler(lambda _, context: self.problems.append(context))

    def time(self) -> float:
        """Virtual seconds."""
        return self._now_s

    def pass_time(self, seconds: float) -> None:
        """Let time pass, at least to the next timer."""
        self._now_s += seconds

    def thaw(self, process: Process) -> None:
        """Let a frozen node go on: what it missed runs now, in order."""
        process.frozen = False
        parked, process.parked = process.parked, []
        for handle in parked:
            self._ready.append(handle)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """As usual; the task is kept, so that what a dead node left is never finished by the garbage collector."""
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        self._kept.append(task)
        return task

    def drop(self) -> None:
        """Forget everything that still runs, without letting any of it have an effect."""
        self._dropped = True
        outer = asyncio._get_running_loop()
        # what a ``finally`` block begins while it is closed is a task of this loop, and closed in its turn
        asyncio._set_running_loop(self)
        try:
            for task in self._kept:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    _close(task.get_coro())
        finally:
            asyncio._set_running_loop(outer)
        self._kept.clear()
        self._ready.clear()
        self._scheduled.clear()
        self.close()

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """As usual; nothing once the loop was dropped."""
        return _CANCELLED if self._dropped else super().call_soon(callback, *args, context=context)

    def run_as(self, process: Process | None, call: Callable[[], Any]) -> Any:
        """Call something as ``process``: callbacks and tasks that it makes belong to it."""
        context = contextvars.Context()
        context.run(CURRENT.set, process)
        return context.run(call)

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps."""


def alone(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], *, close: bool = True) -> T:
    """Run ``work`` on a loop of its own amid the callbacks of another: it takes none of that one's time.

    Args:
        close: the loop is not needed any more.
    """
    outer = asyncio._get_running_loop()
    task = None if outer is None else asyncio.current_task()
    if outer is not None and task is not None:
        asyncio.tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    try:
        return loop.run_until_complete(work)
    finally:
        if close:
            loop.close()
        asyncio._set_running_loop(outer)
        if outer is not None and task is not None:
            asyncio.tasks._enter_task(outer, task)


def _close(coroutine: Any) -> None:
    """Close a coroutine although its ``finally`` blocks want to await something."""
    for _ in range(50):
        try:
            coroutine.close()
        except BaseException:
            continue
        return


def _process(handle: asyncio.Handle) -> Process | None:
    context: contextvars.Context = handle._context  # type: ignore[attr-defined]
    return context.get(CURRENT)


def _cancelled() -> asyncio.Handle:
    loop = VirtualLoop()
    handle = asyncio.Handle(lambda: None, (), loop)
    handle.cancel()
    loop.close()
    return handle


_CANCELLED = _cancelled()
