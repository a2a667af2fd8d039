"""Trying an execution again that was parked because the code no longer fitted its journal.

A worker announces the code that it has when it starts. For each execution that is parked by nondeterminism the sweeper
enqueues a RESUME ``code:{code_ref}`` for every known code of its workflow and version that has not tried it yet, at the
instant at which it was parked. A code that cannot go on either parks it again, and is not asked a second time.
*Crash before it*: every other sweeper does the same, and so does the next one.
"""

from __future__ import annotations

from flowli.domain.execution import ExecutionStatus
from flowli.domain.provenance import Provenance
from flowli.runtime.control_fold import ControlFold, Known
from flowli.runtime.protocols.wake import CodeCause, resume_task
from flowli.runtime.services import Services

__all__ = ["try_code", "untried"]


def untried(fold: ControlFold, known: Known) -> list[str]:
    """The codes that have not tried an execution yet which is parked because of its code, the latest first."""
    parked = known.parked
    if known.status is not ExecutionStatus.SUSPENDED or parked is None or parked.cause != "nondeterminism":
        return []
    return [ref for ref in fold.codes.of(known.workflow, known.version) if ref not in known.parked_by]


async def try_code(services: Services, known: Known, code_refs: list[str], by: Provenance) -> int:
    """Have workers with other code try it; returns how many tasks were put."""
    execution = await services.ports.executions.get(known.eid)
    if execution is None:
        return 0
    put = 0
    for ref in code_refs:
        cause = CodeCause(ref)
        put += await services.ports.queue.enqueue(
            resume_task(
                queue=execution.queue,
                priority=execution.priority,
                eid=known.eid,
                cause=cause,
                at=known.at,
                by=by,
            )
        )
    services.hub.wake_queue(execution.queue)
    return put
