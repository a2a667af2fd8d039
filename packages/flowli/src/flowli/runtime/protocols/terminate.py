"""Terminating: the execution ends ``cancelled`` without its code being run.

1. to 6. as in ``take``, with the verb ``terminate`` and the entry ``execution.cancelled``.
7. What every end is followed by (``after_end``), and the named leases that its code did not leave (``named_lease``).
8. Withdraw the RESUME.

An execution that was claimed but never recorded (a start that its caller left half done) can be terminated as well: the
terminal entry comes first, so that nobody can run it, and then the record, so that retention finds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.entries import ExecutionCancelled, ExecutionStarted, JournalBody
from flowli.domain.errors import NotAllowed
from flowli.domain.ports import LeaseRequest
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.after_end import after_end
from flowli.runtime.protocols.ask import was_applied
from flowli.runtime.protocols.named_lease import leave_all
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.take import Taken, Taker

__all__ = ["terminate"]


async def terminate(taker: Taker, standing: Standing, *, request: str, reason: str, by: Provenance) -> None:
    """End the execution; returns when its terminal entry and all that follows it are durable.

    Raises:
        NotAllowed: it has ended otherwise.
        DispatchConflict: the id was used for something else.
    """
    wish = LeaseRequest(request, "terminate", by, reason)
    if was_applied(standing, wish):
        taken = Taken(standing)
    else:
        standing.require_live("terminated")
        taken = await taker.apply(standing, wish, lambda found, _: _bodies(found, wish))
    if request not in taken.standing.fold.applied:
        eid, status = standing.execution.eid, taken.standing.fold.status
        raise NotAllowed(f"execution {eid} was {status} before it could be terminated; `flowli show {eid}` tells more")
    if taken.appended and isinstance(taken.appended[0].body, ExecutionStarted):
        await taker.services.ports.executions.put(standing.execution)
    taker.services.observers.committed(standing.execution, taken.appended)
    await after_end(taker.services, taken.standing)
    await leave_all(taker.services, taken.standing.execution.eid, taken.standing.fold, by)
    await taker.withdraw(taken, request)


def _bodies(standing: Standing, wish: LeaseRequest) -> Sequence[JournalBody]:
    end = ExecutionCancelled(wish.reason, wish.id)
    return [end] if standing.fold.execution is not None else [ExecutionStarted(standing.execution), end]
