"""Who still works on an installation: the leases that somebody keeps alive."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.cairn.copying.walk import all_keys, in_parallel
from flowli.cairn.errors import StoreDamaged
from flowli.cairn.lease import Leases
from flowli.cairn.lease_doc import LeaseDoc, why_free
from flowli.cairn.objects import Documents

__all__ = ["LiveLease", "live_leases"]

_LOOKS = 4


@dataclass(frozen=True, slots=True)
class LiveLease:
    """A lease that is held.

    Attributes:
        key: where it is.
        holder: who has it, in words.
        idle_s: seconds since it was renewed.
        ttl_s: seconds without a renewal after which it is free.
    """

    key: str
    holder: str
    idle_s: float
    ttl_s: float


async def live_leases(documents: Documents) -> list[LiveLease]:
    """The leases of executions, tasks, sweepers and workers that are held and not expired.

    A store without a clock does not tell how old a lease is. Then each that is held is watched for its TTL: one that
    is renewed is live, and ends the watch at once.
    """
    leases, world = Leases(documents, documents.world), documents.world
    keys = [one.key async for one in all_keys(documents) if _may_be_lease(one.key)]
    held = await _held(leases, documents, keys)
    versions = {one.key: one.version for one in held}
    unaged = [one for one in held if one.doc.age_s is None]
    while unaged and len(unaged) == len(held):
        await world.sleep(max(one.ttl_s for one in unaged) / _LOOKS)
        held = await _held(leases, documents, [one.key for one in held])
        if any(versions[one.key] != one.version for one in held):
            break
        unaged = [one for one in held if one.doc.age_s is None]
    return [LiveLease(one.key, _who(one), one.idle_s, one.ttl_s) for one in held]


async def _held(leases: Leases, documents: Documents, keys: list[str]) -> list[LeaseDoc]:
    async def read(key: str) -> LeaseDoc | None:
        try:
            return await leases.read(key)
        except StoreDamaged:
            return None  # no lease stands there

    found = await in_parallel(keys, read)
    return [one for one in found if one is not None and why_free(one, None, documents.world) is None]


def _may_be_lease(key: str) -> bool:
    return key.endswith("/lease") if key.startswith("wf/exec/") else key.startswith("wf/queues/") and "/ready/" in key


def _who(lease: LeaseDoc) -> str:
    holder = lease.holder or {}
    process = holder.get("process")
    at = f" ({process.get('host')}, process {process.get('pid')})" if isinstance(process, dict) else ""
    return f"{holder.get('id', 'somebody')}{at}"
