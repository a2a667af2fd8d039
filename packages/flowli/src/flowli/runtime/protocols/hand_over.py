"""Handing over: an owner lets the execution go on request, of an operator or of its worker, though it has work left.

1. Launch nothing more and deliver nothing more; wait until what runs has ended, or not, if the worker has no time left.
   What is not launched stays so. *Crash in it*: the execution is taken over uncleanly; a request that is not journaled
   still stands in the lease, and the next owner applies it.
2. Do what was asked for: ``execution.migrated`` or ``execution.paused`` joins what is buffered; a worker that goes down
   adds nothing. An execution that is quiet by now is suspended on its waits instead (``suspend``).
3. Release (steps 3 and 4 of ``suspend``): the same commit ends with ``execution.suspended``, on the operator after a
   pause, on nothing else. *Crash before it*: as in 1. *Crash after it*: only the twin is missing. What waits on nothing
   is carried on by the task that this owner gives back, and by the audit if that is lost.
4. Twins and acks as in ``suspend``; the task of an execution that waits on nothing is given back instead.

An execution that the code cannot carry on is parked in the same way (``park``): it waits on the operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.domain.entries import ExecutionMigrated, ExecutionPaused
from flowli.domain.waits import OnOperator
from flowli.runtime.owner.release import Release
from flowli.runtime.protocols.suspend import release, suspend

if TYPE_CHECKING:
    from flowli.runtime.owner.owner import Owner

__all__ = ["hand_over", "park"]


async def hand_over(owner: Owner) -> Release | None:
    """Steps 2 and 3, when nothing runs any more; None if the execution runs on after all."""
    listener, session = owner.listener, owner.session
    if listener.migrate is not None:
        asked, version = listener.migrate, str(listener.migrate.data["version"])
        session.append(ExecutionMigrated(owner.workflow.version, version, asked.reason, asked.id))
    elif listener.pause is not None:
        reason, request = listener.pause
        session.append(ExecutionPaused(reason, request))
        return await park(owner, OnOperator("paused", reason))
    elif owner.quiet:
        return Release.SUSPENDED if await suspend(owner) else None
    # the next owner launches again what was under way
    await owner.launcher.stop()
    await release(owner, ())
    return Release.HANDED_OVER


async def park(owner: Owner, why: OnOperator) -> Release:
    """Suspend the execution on the operator."""
    await release(owner, (why,))
    return Release.SUSPENDED
