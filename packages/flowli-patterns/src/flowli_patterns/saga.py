"""``saga``: actions that are undone in reverse order when what follows them fails.

An action is registered before it begins, so that a saga knows of every action whose effect may have landed. What a
finished action returned is given to its undo. Undoing is made of steps like any other (``undo-NAME`` in the journal):
each is retried, it survives crashes, and cancels that arrive meanwhile are held back until it is through.

Only what ends the workflow's code undoes: an error or a cancel. When a process dies, loses its lease or drops the
coroutine from memory, nothing has ended: the execution goes on elsewhere and nothing is undone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from flowli import Context, RetryPolicy
from flowli.domain.errors import BackendError, ExecutionClosed, LeaseLost, NondeterminismError, UsageError
from flowli_patterns._shield import finish
from flowli_patterns.errors import CompensationFailed

__all__ = ["UNDO_RETRY", "Saga", "saga"]

P = ParamSpec("P")
T = TypeVar("T")

UNDO_RETRY = RetryPolicy(max_attempts=10, backoff=timedelta(seconds=1), max_backoff=timedelta(minutes=5))
"""How an undo is retried unless the saga says otherwise."""

_PLATFORM = (ExecutionClosed, GeneratorExit, BackendError, LeaseLost, NondeterminismError)
"""These say nothing about the workflow: it goes on elsewhere, and nothing is undone."""

_UNSET: Any = object()


@dataclass(slots=True)
class _Action:
    name: str
    undo: Callable[..., object] | None
    undo_attempt: Callable[..., object] | None
    args: tuple[Any, ...]
    done: bool = False
    result: Any = None

    @property
    def compensation(self) -> tuple[Callable[..., object], tuple[Any, ...]] | None:
        """What undoes it, and with which arguments; None if nothing has to be done."""
        if self.done:
            return None if self.undo is None else (self.undo, (self.result,))
        return None if self.undo_attempt is None else (self.undo_attempt, self.args)


class Saga:
    """See ``saga``.

    Attributes:
        undone: names of the actions that were undone, in the order of undoing.
    """

    def __init__(self, ctx: Context, retry: RetryPolicy, collect_all: bool) -> None:
        self._ctx = ctx
        self._retry = retry
        self._collect_all = collect_all
        self._actions: list[_Action] = []
        self._running: dict[asyncio.Future[Any], _Action] = {}
        self._pivot: _Action | None = None
        self._entered = self._left = False
        self.undone: list[str] = []

    async def __aenter__(self) -> Saga:
        if self._entered:
            raise UsageError("this saga was entered before; make a new one with saga(ctx)")
        self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        if isinstance(error, _PLATFORM):
            return
        found, cancelled = await finish(self._settled(error))
        if found is not None and not (self._pivot is not None and self._pivot.done):
            # past the point of no return nothing is undone: what came before belongs to what cannot be undone
            _, again = await finish(self._compensate(found))
            cancelled = cancelled or again
        if cancelled:
            raise asyncio.CancelledError from error
        if error is None and found is not None:
            raise found

    @overload
    async def step(
        self,
        action: Callable[..., Awaitable[T]],
        /,
        *args: Any,
        undo: Callable[[T], object] | None,
        undo_attempt: Callable[..., object] | None = None,
        **options: Any,
    ) -> T: ...
    @overload
    async def step(
        self,
        action: Callable[..., T],
        /,
        *args: Any,
        undo: Callable[[T], object] | None,
        undo_attempt: Callable[..., object] | None = None,
        **options: Any,
    ) -> T: ...
    @overload
    async def step(
        self, action: Callable[..., Awaitable[T]], /, *args: Any, irreversible: bool, **options: Any
    ) -> T: ...
    @overload
    async def step(self, action: Callable[..., T], /, *args: Any, irreversible: bool, **options: Any) -> T: ...

    async def step(
        self,
        action: Callable[..., Any],
        /,
        *args: Any,
        undo: Callable[[Any], object] | None = _UNSET,
        undo_attempt: Callable[..., object] | None = None,
        irreversible: bool = False,
        **options: Any,
    ) -> Any:
        """Run a step that the saga can undo.

        Args:
            action: as for ``ctx.step``; so are ``args`` and the other options.
            undo: a step that is given what the action returned. None for an action that leaves nothing to undo.
            undo_attempt: a step that is given the arguments of an action which failed or was cut off: its effect may
                have landed all the same. None if nothing has to be done then.
            irreversible: the action cannot be undone. It must be the last of its saga; when it has completed, nothing
                before it is undone either.

        Raises:
            StepFailed: as ``ctx.step``.
            UsageError: the action has no ``undo``, or an irreversible one came before it.
        """
        name = str(options.get("name") or getattr(action, "__name__", type(action).__name__))
        self._check(name, undo, irreversible)
        marks = {"irreversible": True} if irreversible else {}
        call = self._ctx.step(action, *args, **options, **marks)
        return await self._do(_Action(name, None if undo is _UNSET else undo, undo_attempt, args), call, irreversible)

    async def child(
        self,
        workflow: Callable[Concatenate[Context, P], Awaitable[T]],
        /,
        *args: Any,
        undo: Callable[[T], object] | None,
        undo_attempt: Callable[..., object] | None = None,
        **options: Any,
    ) -> T:
        """Run a child that the saga can undo; the arguments are those of ``ctx.child`` and of ``step``.

        Raises:
            ChildFailed: as ``ctx.child``.
            UsageError: an irreversible action came before it.
        """
        name = getattr(workflow, "__name__", "child")
        self._check(name, undo, False)
        call = self._ctx.child(workflow, *args, **options)
        done: T = await self._do(_Action(name, undo, undo_attempt, args), call, False)
        return done

    def _check(self, name: str, undo: object, irreversible: bool) -> None:
        if not self._entered or self._left:
            raise UsageError(f"action '{name}' stands outside of its saga; use it inside `async with saga(ctx) as s:`")
        if self._pivot is not None:
            raise UsageError(
                f"action '{name}' follows the irreversible '{self._pivot.name}', which could not be undone if it "
                "failed; make the irreversible action the last of its saga"
            )
        if irreversible and undo is not _UNSET and undo is not None:
            raise UsageError(f"action '{name}' is irreversible and has an undo; leave one of the two out")
        if not irreversible and undo is _UNSET:
            raise UsageError(f"action '{name}' has no undo; give undo=..., undo=None if it leaves nothing to undo")

    async def _do(self, action: _Action, call: Awaitable[Any], irreversible: bool) -> Any:
        self._actions.append(action)
        if irreversible:
            self._pivot = action
        doing = asyncio.ensure_future(self._follow(action, call))
        self._running[doing] = action
        # a cancel must not cut off an action of which only its own end tells what is to be undone
        return await (doing if action.undo_attempt is not None else asyncio.shield(doing))

    async def _follow(self, action: _Action, call: Awaitable[Any]) -> Any:
        try:
            action.result = await call
        except BaseException:
            if self._pivot is action:
                self._pivot = None
            raise
        action.done = True
        # undoing goes against the order in which actions were completed
        self._actions.remove(action)
        self._actions.append(action)
        return action.result

    async def _settled(self, error: BaseException | None) -> BaseException | None:
        """Wait for the actions that are under way; the error of the block, or else of one of them."""
        for doing, action in self._running.items():
            if error is not None and action.undo_attempt is not None:
                doing.cancel()
        ended = await asyncio.gather(*self._running, return_exceptions=True)
        return error or next((one for one in ended if isinstance(one, BaseException)), None)

    async def _compensate(self, cause: BaseException) -> None:
        todo = [one for one in reversed(self._actions) if one.compensation is not None]
        failed: dict[str, Exception] = {}
        with self._ctx.scope("undo"):
            while todo and (self._collect_all or not failed):
                action = todo.pop(0)
                assert action.compensation is not None
                undo, args = action.compensation
                try:
                    await self._undo(f"undo-{action.name}"[:128], undo, args)
                except Exception as error:
                    failed[action.name] = error
                else:
                    self.undone.append(action.name)
        if failed:
            raise CompensationFailed(cause, failed, self.undone, [action.name for action in todo]) from cause

    async def _undo(self, name: str, undo: Callable[..., object], args: tuple[Any, ...]) -> None:
        try:
            call = self._ctx.step(undo, *args, name=name, retry=self._retry)
        except UsageError:  # its annotations cannot record what the action returned; it is undone all the same
            call = self._ctx.step(partial(undo, *args), name=name, retry=self._retry)
        await call


def saga(ctx: Context, *, undo_retry: RetryPolicy = UNDO_RETRY, collect_all: bool = False) -> Saga:
    """Actions that are undone when what follows them fails.

    Leaving the block with an error or a cancel undoes the completed actions, the last one first, each as a step that is
    given what its action returned; then the error goes on. If an undo fails for good, ``CompensationFailed`` is raised
    in its place, which names it: the execution is then failed, and ``flowli status`` shows the name.

    Args:
        undo_retry: how an undo is retried.
        collect_all: after an undo that failed, the others are tried all the same. Otherwise it stops there.

    Example:
        >>> async with saga(ctx) as trip:
        ...     seat = await trip.step(book_seat, flight, undo=release_seat)
        ...     room = await trip.step(book_room, hotel, undo=cancel_room)
        ...     await trip.step(charge, card, seat, room, irreversible=True)
    """
    return Saga(ctx, undo_retry, collect_all)
