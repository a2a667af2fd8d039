"""The state of a task: what its consumer leaves for the one who goes on with it, as the address of the work.

It stands in a lease that belongs to the task, so that who takes it raises its epoch: one who lost the task writes no
more. It outlasts the task, until it is cleared. The name of the lease is that which ``flowli-runner`` uses when it
reaches the bucket, so that both go on with the work of each other.
"""

from __future__ import annotations

import hashlib

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import BackendUnavailable, LeaseLost
from flowli.domain.ids import Eid, parse_eid, role_eid
from flowli.domain.ports import Acquired, Holder, Lease
from flowli.domain.provenance import Site
from flowli_api.auth.identity import Identity
from flowli_api.dto.tasks import StateOut
from flowli_api.service import Service
from flowli_api.worker.seal import Held

__all__ = ["clear_state", "look_at_state", "take_state", "write_state"]

_TTL_S = 60.0
_LOOK, _TRIES = 10_000, 5


async def take_state(service: Service, caller: Identity, held: Held) -> StateOut:
    """Take the state of a task that the caller holds, whoever had it."""
    ownership, task = service.engine.ports.ownership, held.lease.task
    holder = Holder(f"{caller.actor.id}/{service.world.token()}", Site(f"http:{task.queue}"))
    for _ in range(_TRIES):
        got = await ownership.acquire(_eid(task.task_id), holder, _TTL_S, force=True)
        if isinstance(got, Acquired):
            about = {"task": task.task_id, "queue": task.queue, "eid": str(task.target)}
            return await _shown(service, caller, about, got.lease)
    raise BackendUnavailable(f"the state of task {task.task_id} changes all the time; try again")


async def write_state(service: Service, caller: Identity, token: str, state: Data) -> StateOut:
    """Replace the state.

    Raises:
        LeaseLost: somebody else has taken it since.
    """
    about, lease = await _opened(service, caller, token)
    return await _shown(service, caller, about, await service.engine.ports.ownership.renew(lease, state=state))


async def look_at_state(service: Service, caller: Identity, token: str) -> StateOut:
    """The state as it stands now, whoever has it; nothing is changed."""
    about, lease = await _opened(service, caller, token)
    found = await service.engine.ports.ownership.read(lease.eid)
    views = await service.engine.ports.queue.find(about["queue"], parse_eid(about["eid"]), limit=_LOOK)
    return StateOut(
        token=token,
        state=None if found is None else found.state,
        held=found is not None and found.epoch == lease.epoch,
        standing=any(view.task.task_id == about["task"] for view in views),
    )


async def clear_state(service: Service, caller: Identity, token: str) -> None:
    """Remove the state, unless somebody else has taken it."""
    _, lease = await _opened(service, caller, token)
    try:
        await service.engine.ports.ownership.renew(lease)
    except LeaseLost:
        return
    await service.engine.ports.ownership.remove(lease.eid)


def _eid(task_id: str) -> Eid:
    return role_eid(f"work:{hashlib.sha256(task_id.encode()).hexdigest()[:32]}")


async def _shown(service: Service, caller: Identity, about: dict[str, str], lease: Lease) -> StateOut:
    bare = codec.dump(Lease(lease.eid, lease.epoch, lease.holder, lease.ttl_s))  # a state is too large for a token
    token = await service.seal.close(caller, "state", {"about": about, "lease": bare})
    return StateOut(token=token, state=lease.state, held=True, standing=True)


async def _opened(service: Service, caller: Identity, token: str) -> tuple[dict[str, str], Lease]:
    found = await service.seal.open(caller, "state", token)
    about: dict[str, str] = found["about"]
    service.guard.check(caller, f"tasks:consume:{about['queue']}")
    return about, codec.load(Lease, found["lease"])
