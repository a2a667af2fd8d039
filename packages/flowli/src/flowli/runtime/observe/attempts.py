"""Attempts of steps as events, and as spans."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from flowli import codec
from flowli.domain.errors import Defer, LeaseLost
from flowli.runtime.observe.events import AttemptBegan, AttemptEnded, AttemptOutcome
from flowli.runtime.observe.observers import Observers
from flowli.runtime.observe.spans import attempt_work
from flowli.runtime.observe.tracer import NO_TRACER, Span
from flowli.runtime.step import StepScope
from flowli.world import World

__all__ = ["NotStarted", "Watched"]


class NotStarted(LeaseLost):
    """The check right before the call refused it."""


class Watched:
    """One attempt: the block is its run, in the context of the attempt. Without observers it does nothing."""

    def __init__(self, observers: Observers | None, scope: StepScope, world: World) -> None:
        self._observers = observers if observers is not None and observers.active else None
        self._tracer = NO_TRACER if observers is None else observers.tracer
        self._scope = scope
        self._info = scope.info
        self._world = world
        self._around: AbstractContextManager[Span] | None = None
        self._span: Span | None = None
        self._outcome = AttemptOutcome.RETURNED
        self._error_type = ""
        self._began_s = 0.0

    def raised(self, error: BaseException) -> None:
        """The step raised an error."""
        if isinstance(error, Defer):
            self._outcome = AttemptOutcome.DEFERRED
        else:
            self._outcome, self._error_type = AttemptOutcome.RAISED, codec.error_info(error).type

    def __enter__(self) -> Self:
        if self._tracer is not NO_TRACER:
            self._around = self._tracer.around(attempt_work(self._scope))
            self._span = self._around.__enter__()
        if self._observers is not None:
            info = self._info
            self._began_s = self._world.monotonic_s()
            self._observers.tell(
                AttemptBegan(info.eid, info.fid, info.attempt, info.epoch, info.workflow, self._world.now())
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._observers is None and self._around is None:
            return
        if isinstance(error, NotStarted):
            self._outcome = AttemptOutcome.REFUSED
        elif isinstance(error, asyncio.CancelledError):
            self._outcome = AttemptOutcome.STOPPED
        elif error is not None:
            self.raised(error)
        self._end_span()
        if self._observers is not None:
            self._tell_end(self._observers)

    def _end_span(self) -> None:
        if self._around is None or self._span is None:
            return
        self._span.note("flowli.outcome", self._outcome.value)
        if self._error_type:
            self._span.failed(self._error_type)
        self._around.__exit__(None, None, None)

    def _tell_end(self, observers: Observers) -> None:
        info, took_s = self._info, self._world.monotonic_s() - self._began_s
        observers.tell(
            AttemptEnded(
                info.eid,
                info.fid,
                info.attempt,
                info.epoch,
                info.workflow,
                self._world.now(),
                self._outcome,
                took_s,
                self._error_type,
            )
        )
