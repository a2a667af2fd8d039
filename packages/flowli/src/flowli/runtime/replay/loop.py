"""``WorkflowLoop``: an ``asyncio`` event loop with a FIFO ready queue, durable time and no I/O.

Its order of execution depends on nothing but the order in which outcomes are delivered, so that the same deliveries
give the same run: callbacks run first in, first out; tasks and futures hash by creation number, which makes the sets
inside ``asyncio.wait`` and ``TaskGroup`` iterate alike; ``call_later`` becomes a timer of the host, which journals
its firing.

It never runs by itself. The host calls ``run_ready`` from a plain callback of the worker's loop (never inside a
task: from Python 3.14 on, tasks of two loops cannot be nested in one thread). While code runs, the thread is marked as
being in a slice (``guard.slices``), which is what the determinism guard goes by.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, TypeVarTuple

from flowli.domain.errors import ExecutionClosed, NotDeterministic
from flowli.runtime.guard import slices
from flowli.runtime.replay.closing import close_coroutine, close_generator
from flowli.runtime.replay.generators import Generators
from flowli.runtime.replay.numbering import number_gathers
from flowli.runtime.replay.refusals import RefusingLoop

__all__ = ["TimerHost", "WorkflowFuture", "WorkflowLoop", "WorkflowTask"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

number_gathers()


class TimerHost(Protocol):
    """Who keeps time for a loop."""

    def time_s(self) -> float:
        """The greatest instant delivered so far, in seconds since 1970."""

    def arm(self, handle: asyncio.TimerHandle) -> None:
        """Run ``handle`` at ``handle.when()``, by calling ``WorkflowLoop.fire``."""

    def disarm(self, handle: asyncio.TimerHandle) -> None:
        """``handle`` was cancelled before it fired."""


class WorkflowFuture(asyncio.Future[T]):
    """A future that hashes by creation number."""

    def __init__(self, *, loop: WorkflowLoop) -> None:
        self._number = loop._number = loop._number + 1
        asyncio.Future.__init__(self, loop=loop)

    def __hash__(self) -> int:
        return self._number


class WorkflowTask(asyncio.Task[T]):
    """A task that hashes by creation number.

    Attributes:
        own_context: in which its coroutine runs.
    """

    _log_destroy_pending: bool

    def __init__(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        loop: WorkflowLoop,
        name: str | None,
        context: contextvars.Context | None,
    ) -> None:
        # set first: the base class puts the task into a set of all tasks
        self._number = loop.next_number()
        self.own_context = contextvars.copy_context() if context is None else context
        super().__init__(coro, loop=loop, name=name or f"task-{self._number}", context=self.own_context)

    def __hash__(self) -> int:
        return self._number

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel as usual; the loop remembers that it happened."""
        loop = self.get_loop()
        assert isinstance(loop, WorkflowLoop)
        loop.cancelled_tasks += 1
        return super().cancel(msg)


class _Timer(asyncio.TimerHandle):
    _scheduled: bool


class WorkflowLoop(RefusingLoop):
    """See the module's docstring.

    Args:
        name: names the execution in reports.

    Attributes:
        tasks: every task that has not ended, in the order of creation. They are held strongly.
        unhandled: what ``call_exception_handler`` was told, for the log.
        closed: whether the coroutine was dropped.
        cancelled_tasks: how often ``cancel`` was called on a task.
    """

    def __init__(self, host: TimerHost, name: str = "") -> None:
        self.name = name
        self._host = host
        self._ready: deque[asyncio.Handle] = deque()
        self._number = 0
        self._running = False
        self.closed = False
        self._generators = Generators()
        self.tasks: dict[int, WorkflowTask[Any]] = {}
        self.unhandled: list[dict[str, Any]] = []
        self.cancelled_tasks = 0

    @property
    def idle(self) -> bool:
        """Nothing is ready: only a delivery can make the code go on."""
        return not self._ready

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the running loop of this thread, with the hooks of its async generators, and mark the slice."""
        outer = asyncio._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        asyncio._set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=self._generators.began, finalizer=self._generators.dropped)
        mark = slices.begin(self.name)
        try:
            yield
        finally:
            slices.end(mark)
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(outer)

    def run_ready(self) -> None:
        """Run until nothing is ready: one slice. Call it ``running``, from a plain callback of the outer loop."""
        self._running = True
        ready = self._ready
        try:
            while ready:
                handle = ready.popleft()
                if not handle._cancelled:
                    try:
                        handle._run()
                    except (SystemExit, KeyboardInterrupt):
                        # the task that raised it has recorded it as its outcome; the worker goes on
                        pass
        finally:
            self._running = False

    def fire(self, handle: asyncio.TimerHandle) -> None:
        """The instant of ``handle`` has come."""
        if not handle.cancelled():
            self._ready.append(handle)

    def next_number(self) -> int:
        """Numbers tasks and futures in the order of their creation."""
        self._number += 1
        return self._number

    def close_generators(self, context: contextvars.Context) -> None:
        """Close, in tasks, the async generators that were left before their end, in the order in which they began."""
        for generator in self._generators.take_unfinished():
            self.create_task(generator.aclose(), context=context)

    def drop(self) -> None:
        """Close every coroutine without letting anything it does be scheduled, and close the loop.

        What the code does while it is dropped changes nothing: the execution goes on elsewhere.
        """
        if self.closed:
            return
        self.closed = True
        self._ready.clear()
        with self.running():
            for task in list(self.tasks.values()):
                task._log_destroy_pending = False
                coro = task.get_coro()
                if coro is not None:
                    task.own_context.run(close_coroutine, coro)
            for generator in self._generators.take_unfinished():
                contextvars.copy_context().run(close_generator, generator)
            self._ready.clear()
            self.tasks.clear()

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Run ``callback`` after everything that is ready now."""
        handle = asyncio.Handle(callback, args, self, context)
        if not self.closed:
            self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run ``callback`` once ``delay`` seconds of durable time have passed."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run ``callback`` at ``when``, seconds since 1970 in durable time."""
        handle = _Timer(when, callback, args, self, context)
        if when <= self.time():
            self._ready.append(handle)
        else:
            handle._scheduled = True
            self._host.arm(handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._host.disarm(handle)

    def time(self) -> float:
        """Durable time: seconds since 1970 of the last delivery."""
        return self._host.time_s()

    def create_future(self) -> WorkflowFuture[Any]:
        """A future of this loop."""
        return WorkflowFuture(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **_: Any,
    ) -> WorkflowTask[T]:
        """Start a task.

        Raises:
            NotDeterministic: ``asyncio.as_completed`` was given bare coroutines, which it starts in random order.
        """
        if self.closed:
            coro.close()
            raise ExecutionClosed("the coroutine is being dropped from memory; no task can be started")
        if _started_by_as_completed():
            coro.close()
            raise NotDeterministic(
                "asyncio.as_completed starts bare coroutines in random order; make tasks first "
                "(asyncio.create_task) or use ctx.as_completed"
            )
        task = WorkflowTask(coro, loop=self, name=name, context=context)
        self.tasks[task._number] = task
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.pop(hash(task), None)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Remember what nobody awaits, for the log."""
        self.unhandled.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """The same as ``call_exception_handler``."""
        self.unhandled.append(context)

    def set_exception_handler(self, handler: object) -> None:
        """Ignored: the engine handles what nobody awaits."""

    def get_exception_handler(self) -> None:
        """None."""

    def get_debug(self) -> bool:
        """Debug mode would read the machine's clock."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """Ignored."""

    def get_task_factory(self) -> None:
        """None."""

    def is_running(self) -> bool:
        """Whether a slice is under way."""
        return self._running

    def is_closed(self) -> bool:
        """Whether the coroutine was dropped."""
        return self.closed

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Nothing to do."""


def _started_by_as_completed() -> bool:
    frame = sys._getframe(2)
    if (
        frame.f_code.co_name not in ("ensure_future", "_ensure_future")
        or frame.f_globals.get("__name__") != "asyncio.tasks"
    ):
        return False
    above = frame.f_back
    for _ in range(4):
        if above is None or above.f_globals.get("__name__") != "asyncio.tasks":
            return False
        code = above.f_code
        if code.co_name == "as_completed" or getattr(code, "co_qualname", "").startswith("_AsCompletedIterator"):
            return True
        above = above.f_back
    return False
