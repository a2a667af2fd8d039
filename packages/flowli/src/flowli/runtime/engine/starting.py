"""Starting executions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeAlias

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry
from flowli.domain.errors import UsageError
from flowli.domain.execution import DEFAULT_PRIORITY, Execution
from flowli.domain.ids import Eid, check_key, check_name
from flowli.domain.provenance import Actor, Provenance
from flowli.runtime.engine.operating import OperatorVerbs
from flowli.runtime.observe.spans import start_work
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.start import created, put_start
from flowli.runtime.protocols.start_keyed import KeyedStart, OnConflict, keyed_start
from flowli.runtime.registry import Workflow

__all__ = ["AnyWorkflow", "StartResult", "StartVerbs", "plain_arguments"]

AnyWorkflow: TypeAlias = str | Callable[..., Awaitable[Any]]
"""A registered workflow function, or the name of a workflow."""


@dataclass(frozen=True, slots=True)
class StartResult:
    """What a start led to.

    Attributes:
        eid: the execution.
        joined: an earlier start with the same key had made it.
        control_seq: sequence number of ``execution.created`` in the control log, if the start waited for it.
    """

    eid: Eid
    joined: bool
    control_seq: int | None = None


class StartVerbs(OperatorVerbs):
    """``start``, ``start_result``, ``start_args``."""

    async def start(
        self,
        workflow: AnyWorkflow,
        /,
        *args: object,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        actor: Actor | None = None,
        announced: bool = False,
        **kwargs: object,
    ) -> Eid:
        """Start an execution; returns its id when it is certain to run.

        Args:
            workflow: a registered function, or a name. A workflow that is not registered in this process
                can be started by its name and ``version``, with plain JSON values as arguments.
            args: the arguments of the workflow after its context.
            key: a business key: two starts with one key are one execution.
            on_conflict: what to do if the key is taken: ``join``, ``reject``, ``allow_after_finish`` or
                ``replace``.
            queue: where its tasks go; the workflow's own queue if None.
            priority: 0 first, 99 last.
            version: of the workflow; the one registered last if None.
            timeout: execution timeout in seconds: it is cancelled then, and terminated after a grace.
            actor: who asks; this process if None.
            announced: return only when observers of the control log can see it.
            kwargs: further arguments of the workflow. One that has the name of a parameter of this method
                is passed with ``start_args``.

        Raises:
            UnknownWorkflow: it is not registered here.
            BadArguments: the arguments do not fit its signature.
            InvalidValue: an argument would not come back equal; the error names its path.
            DispatchConflict: the key is taken by something else.
        """
        result = await self.start_args(
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
            announced=announced,
        )
        return result.eid

    async def start_result(
        self,
        workflow: AnyWorkflow,
        /,
        *args: object,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        actor: Actor | None = None,
        announced: bool = False,
        **kwargs: object,
    ) -> StartResult:
        """``start``, telling also whether an execution was joined and where it was announced."""
        return await self.start_args(
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
            announced=announced,
        )

    async def start_args(
        self,
        workflow: AnyWorkflow,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        actor: Actor | None = None,
        announced: bool = False,
        request: str | None = None,
    ) -> StartResult:
        """``start_result`` with the workflow's arguments as a sequence and a mapping, so that no name collides.

        Args:
            request: id of this call; repeated with the same key it joins what it started, also with ``replace`` and
                ``reject``. Drawn if None.
        """
        started, seq = await self._start(
            workflow,
            args,
            kwargs or {},
            key=key,
            on_conflict=on_conflict,
            queue=queue,
            priority=priority,
            version=version,
            timeout=timeout,
            actor=actor,
            announced=announced,
            request=request,
        )
        return StartResult(started.execution.eid, started.joined, seq)

    async def _start(
        self,
        workflow: AnyWorkflow,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        key: str | None,
        on_conflict: str,
        queue: str | None,
        priority: int | None,
        version: str | None,
        timeout: float | timedelta | None,
        actor: Actor | None,
        announced: bool = False,
        request: str | None = None,
    ) -> tuple[KeyedStart, int | None]:
        """Begin an execution, or find the one of its key; also the control sequence if it was waited for."""
        by = self._by(actor)
        policy = _policy(on_conflict)
        execution = self._execution(
            workflow, args, kwargs, by, key=key, queue=queue, priority=priority, version=version, timeout=timeout
        )
        with self.observers.tracer.around(start_work(execution, by.trace)) as span:
            by = replace(by, trace=span.trace)
            execution = replace(execution, created_by=by)
            if key is None:
                await put_start(self.ports, execution, by)
                started = KeyedStart(execution, joined=False, wrote=True)
            else:
                asked = request or self.world.token()
                started = await self._keyed(execution, asked, policy, by, same_timeout=timeout is not None)
            seq = await self._announce(started, by, announced)
        self.hub.wake_queue(started.execution.queue)
        return started, seq

    async def _keyed(
        self, execution: Execution, request: str, policy: OnConflict, by: Provenance, *, same_timeout: bool
    ) -> KeyedStart:
        async def replaced(old: Execution) -> None:
            standing = await find_standing(self.ports, old.eid) or Standing.new(old)
            await self._terminate(standing, f"replace:{execution.eid}", f"replaced by {execution.eid}", by)

        return await keyed_start(
            self.ports,
            execution,
            request=request,
            on_conflict=policy,
            by=by,
            terminate=replaced,
            same_timeout=same_timeout,
        )

    async def _announce(self, started: KeyedStart, by: Provenance, announced: bool) -> int | None:
        if not started.wrote and not announced:
            return None
        posted = self.announcer.post([ControlEntry(created(started.execution), by)])
        return await asyncio.shield(posted) if announced else None

    def _execution(
        self,
        workflow: AnyWorkflow,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        by: Provenance,
        *,
        key: str | None,
        queue: str | None,
        priority: int | None,
        version: str | None,
        timeout: float | timedelta | None,
    ) -> Execution:
        """The record of a new execution, everything checked."""
        known = self._known(workflow, version)
        if known is not None:
            name, version = known.name, known.version
            data = codec.arguments(known.fn, tuple(args), dict(kwargs), skip_first=True)
        else:
            name = check_name("workflow", str(workflow))
            version = check_key("version", str(version))
            data = plain_arguments(args, kwargs)
        self._check_size(f"the arguments of workflow '{name}'", data)
        default = known.timeout_s if known is not None else None
        return Execution(
            eid=self.world.uuid7(),
            workflow=name,
            version=version,
            args=data,
            created_by=by,
            queue=check_name("queue", queue if queue is not None else known.queue if known is not None else "default"),
            priority=_priority(priority),
            dispatch_key=None if key is None else check_key("key", key),
            timeout_s=default if timeout is None else _seconds(timeout),
        )

    def _known(self, workflow: AnyWorkflow, version: str | None) -> Workflow | None:
        """The registered workflow; None for one of another process, named by name and version."""
        unknown = isinstance(workflow, str) and self.registry.find(workflow) is None
        return None if unknown and version is not None else self.registry.of(workflow, version)


def plain_arguments(args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Data]:
    """Arguments of a workflow that is not known here, recorded as they are.

    Raises:
        InvalidValue: one of them would not come back equal.
    """
    listed: list[Data] = [codec.to_data(value, path=f"args[{n}]") for n, value in enumerate(args)]
    named: dict[str, Data] = {name: codec.to_data(value, path=f"args.{name}") for name, value in kwargs.items()}
    return {"args": listed, "kwargs": named}


def _policy(on_conflict: str) -> OnConflict:
    try:
        return OnConflict(on_conflict)
    except ValueError:
        known = ", ".join(f"'{policy}'" for policy in OnConflict)
        raise UsageError(f"on_conflict is {on_conflict!r}; use one of {known}") from None


def _priority(priority: int | None) -> int:
    if priority is None:
        return DEFAULT_PRIORITY
    if not isinstance(priority, int) or not 0 <= priority <= 99:
        raise UsageError(f"priority is {priority!r}; use a whole number from 0 (first) to 99 (last)")
    return priority


def _seconds(timeout: float | timedelta) -> float:
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if not seconds > 0:
        raise UsageError(f"timeout is {seconds} seconds; it must be positive")
    return float(seconds)
