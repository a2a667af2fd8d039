"""Looking after one execution at once: what sweepers come to in the course of their passes. It may be done twice.

1. Never started: the START is put again if nobody owns it (``recover_pending``).
2. Running, and nobody can be working under its lease: a RESUME has it taken over (``recover_running``).
3. Suspended: what it waits for is looked at, and a RESUME is put if it has come (``audit``).
"""

from __future__ import annotations

from flowli.domain.ids import Eid
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.audit import audit
from flowli.runtime.protocols.recover import Recovery, recover_pending, recover_running, vacant
from flowli.runtime.protocols.standing import read_standing
from flowli.runtime.services import Services

__all__ = ["look_after"]


async def look_after(services: Services, eid: Eid, by: Provenance) -> bool:
    """Look at one execution; True if a task was put that moves it.

    Raises:
        UnknownExecution: no such execution.
    """
    standing = await read_standing(services.ports, eid)
    fold = standing.fold
    if fold.end is not None:
        return False
    if not standing.entries:
        return await recover_pending(services, eid, known_seq=0, by=by) is Recovery.RESTARTED
    if fold.suspended is not None:
        return (await audit(services, eid, known_seq=fold.seq, by=by)).woken > 0
    lease = await services.ports.ownership.read(eid)
    if not vacant(lease):
        return False
    return await recover_running(services, eid, lease, known_seq=fold.seq, by=by) is Recovery.RESUMED
