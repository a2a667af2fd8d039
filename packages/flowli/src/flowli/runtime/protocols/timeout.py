"""The execution timeout: who runs longer is cancelled, and terminated if that does not end it.

The timer that ``start`` set has fired:

1. Look at the execution: nothing is to be done for one that has ended. One that is unknown may be about to be started:
   the timer was set before its START, and whose clock is ahead, or whose start is slow, sees it due before that. It is
   kept for an hour.
2. Set the timer of step 4, a grace later. *Crash after it*: the first timer is still there and fires again.
3. Ask for the cancel, under an id of its own, so that it is asked for once.
   Delete the first timer. *Crash before it*: steps 1 to 3 again, which change nothing.

The second timer has fired:

4. Terminate what has not ended; its owner has had its grace. Delete the timer. *Crash before it*: step 4 again.
"""

from __future__ import annotations

from datetime import timedelta

from flowli.domain.errors import NotAllowed
from flowli.domain.ids import ROOT
from flowli.domain.ports import Holder, LeaseRequest
from flowli.domain.provenance import Provenance
from flowli.domain.timers import Timer
from flowli.runtime.protocols.ask import ask, was_applied
from flowli.runtime.protocols.deadline import OVERDUE, overdue
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.take import Taker
from flowli.runtime.protocols.terminate import terminate
from flowli.runtime.services import Services

__all__ = ["is_execution_timeout", "time_out"]

_REQUEST = "timeout"
_START_TAKES = timedelta(hours=1)


def is_execution_timeout(timer: Timer) -> bool:
    """Whether the timer is for the execution as a whole."""
    return timer.fid in (ROOT, OVERDUE)


async def time_out(services: Services, timer: Timer, by: Provenance) -> bool:
    """Do what the timer is for, all but deleting it; False if it is not to be deleted yet."""
    standing = await find_standing(services.ports, timer.eid)
    if standing is None:
        return timer.due_at + _START_TAKES <= services.world.now()
    if standing.ended:
        return True
    if timer.fid == ROOT:
        await services.ports.timers.set(overdue(timer, services.config.grace_s))
        await _cancel(services, standing, by)
    else:
        await _terminate(services, standing, by)
    return True


def _reason(standing: Standing) -> str:
    return f"its timeout of {standing.execution.timeout_s or 0:g} s has passed"


async def _cancel(services: Services, standing: Standing, by: Provenance) -> None:
    wish = LeaseRequest(_REQUEST, "cancel", by, _reason(standing))
    if not was_applied(standing, wish):
        await ask(services.ports, services.hub, standing.execution, wish)


async def _terminate(services: Services, standing: Standing, by: Provenance) -> None:
    holder = Holder(f"{services.site.worker_id}/{services.world.token()}", services.site)
    taker = Taker(services, holder, services.config.exec_ttl_s, grace_s=0.0)
    try:
        await terminate(taker, standing, request=f"{_REQUEST}:{OVERDUE}", reason=_reason(standing), by=by)
    except NotAllowed:  # it has ended by itself meanwhile
        return
