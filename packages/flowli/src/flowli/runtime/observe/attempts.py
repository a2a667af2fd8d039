"""Attempts of steps as events."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from flowli import codec
from flowli.domain.errors import Defer, LeaseLost
from flowli.runtime.observe.events import AttemptBegan, AttemptEnded, AttemptOutcome
from flowli.runtime.observe.observers import Observers
from flowli.runtime.step import StepInfo
from flowli.world import World

__all__ = ["NotStarted", "Watched"]


class NotStarted(LeaseLost):
    """The check right before the call refused it."""


class Watched:
    """One attempt: the block is its run. Without observers it does nothing."""

    def __init__(self, observers: Observers | None, info: StepInfo, world: World) -> None:
        self._observers = observers if observers is not None and observers.active else None
        self._info = info
        self._world = world
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
        if self._observers is None:
            return
        if isinstance(error, NotStarted):
            self._outcome = AttemptOutcome.REFUSED
        elif isinstance(error, asyncio.CancelledError):
            self._outcome = AttemptOutcome.STOPPED
        elif error is not None:
            self.raised(error)
        info, took_s = self._info, self._world.monotonic_s() - self._began_s
        self._observers.tell(
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
