"""Waiting for results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar, overload

from flowli import codec
from flowli.domain.entries import ExecutionCancelled, ExecutionCompleted, ExecutionFailed
from flowli.domain.errors import ExecutionCancelled as CancelledOutcome
from flowli.domain.errors import ExecutionFailed as FailedOutcome
from flowli.domain.errors import NotAllowed, ResultTimeout
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.starting import AnyWorkflow, StartVerbs
from flowli.runtime.hub import INSTANT_S, Ended
from flowli.runtime.protocols.standing import Standing, read_standing

__all__ = ["ResultVerbs"]

T = TypeVar("T")

_FIRST_LOOK_S, _LAST_LOOK_S = 0.05, 1.0
_LOOKS_BEFORE_ARCHIVE = 30


class ResultVerbs(StartVerbs):
    """``result`` and ``run``."""

    async def result(self, eid: Eid | str, timeout: float | timedelta | None = None) -> Any:
        """The value that an execution returns, also of one that ended before the call.

        A workflow that is registered here gives the value in the type that it is annotated with; else it is plain data.

        Args:
            timeout: how long to wait, in seconds; None for ever.

        Raises:
            UnknownExecution: no such execution.
            ExecutionFailed: it failed.
            ExecutionCancelled: it was cancelled or terminated.
            NotAllowed: it was erased.
            ResultTimeout: it has not ended in time; it goes on.
        """
        return self._value(await self._ended(as_eid(eid), timeout, None))

    @overload
    async def run(
        self,
        workflow: Callable[..., Awaitable[T]],
        /,
        *args: object,
        wait_s: float | None = None,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        actor: Actor | None = None,
        **kwargs: object,
    ) -> T: ...

    @overload
    async def run(
        self,
        workflow: str,
        /,
        *args: object,
        wait_s: float | None = None,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        actor: Actor | None = None,
        **kwargs: object,
    ) -> Any: ...

    async def run(
        self,
        workflow: AnyWorkflow,
        /,
        *args: object,
        wait_s: float | None = None,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        actor: Actor | None = None,
        **kwargs: object,
    ) -> Any:
        """Start an execution and wait for its value.

        Arguments and errors are those of ``start`` and ``result``; ``wait_s`` limits the waiting, ``timeout`` the
        execution.
        """
        started, _ = await self._start(
            workflow,
            args,
            kwargs,
            key=key,
            on_conflict=on_conflict,
            queue=queue,
            priority=priority,
            version=version,
            timeout=timeout,
            actor=actor,
        )
        # Nothing was heard of what this call has just begun: it is waited for before it is read.
        new = Standing.new(started.execution) if started.wrote and not started.joined else None
        return self._value(await self._ended(started.execution.eid, wait_s, new))

    async def _ended(self, eid: Eid, timeout: float | timedelta | None, standing: Standing | None) -> Ended:
        """Wait for the end: told by this process, else by looking for the journal's next number.

        Args:
            standing: where it stands, if that is known.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        deadline_s = None if seconds is None else self.world.monotonic_s() + seconds
        # heard of before it is read: an end in between is missed by neither
        with self.hub.watch(eid) as watch:
            standing = standing or await read_standing(self.ports, eid)
            look_s, looks = _FIRST_LOOK_S, 0
            while not standing.ended:
                if deadline_s is not None and self.world.monotonic_s() > deadline_s - INSTANT_S:
                    raise ResultTimeout(
                        f"execution {eid} has not ended within {seconds:g} s (it is {standing.fold.status}); it goes "
                        "on, ask for its result again"
                    )
                told = await watch.wait(look_s, deadline_s)
                if watch.ended is not None:
                    return watch.ended
                looks += 1
                before = standing.position
                standing = await standing.refreshed(self.ports)
                if standing.position == before and looks % _LOOKS_BEFORE_ARCHIVE == 0:
                    # retention may have taken the journal away under a waiter that slept for long
                    standing = await read_standing(self.ports, eid)
                look_s = _FIRST_LOOK_S if told else min(2 * look_s, _LAST_LOOK_S)
        return Ended(standing.execution, standing.fold)

    def _value(self, ended: Ended) -> Any:
        eid = ended.execution.eid
        match ended.fold.end:
            case ExecutionCompleted() if ended.fold.erased:
                raise NotAllowed(f"the result of execution {eid} was erased")
            case ExecutionCompleted(value):
                return codec.from_data(value, self._return_hint(ended), path="result")
            case ExecutionFailed(error):
                raise FailedOutcome(eid, error)
            case ExecutionCancelled(reason):
                raise CancelledOutcome(eid, reason)
            case None:
                raise asyncio.InvalidStateError(f"execution {eid} has not ended")

    def _return_hint(self, ended: Ended) -> Any:
        version = ended.fold.version or ended.execution.version
        workflow = self.registry.find(ended.execution.workflow, version)
        return Any if workflow is None else codec.return_hint(workflow.fn)
