"""Keys of commands: a verb that makes something new does it once for each key, whoever repeats it.

The claim ``command:{eid}:{hash of the key}`` (of a queue: ``command:queue:{queue}:...``) holds what was asked and by
whom. Every call with the key does what the first one asked, with the first one's provenance, so that all of them write
the same; one that asks for something else is refused. Verbs that act on an execution itself need no claim: their
requests carry the key (``ask``), and messages with a key end with their channel.

Receipts end as dispatch keys do. Those of an execution go ``key_ttl_s`` after its archive (``forget_receipts``), when
every verb on it has long been refused; those of queues ``key_ttl_s`` after they were made, some in each run of
retention (``forget_old_receipts``). Each is deleted only as it was found. *Crash amid it*: the next run does the rest;
the place where the last one stopped is only a saving.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import cast

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import DispatchConflict, InvalidValue
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports, StandingClaim
from flowli.domain.provenance import Provenance
from flowli.timestamp import Timestamp

__all__ = ["claim_command", "first_call", "forget_old_receipts", "forget_receipts"]

_BATCH = 1000
_SIDE_BY_SIDE = 64


async def first_call(
    ports: Ports, eid: Eid, key: str | None, verb: str, content: dict[str, Data], by: Provenance, *, fold: JournalFold
) -> Provenance:
    """The provenance of the first call with this key; ``by`` if it is this one, or if there is no key.

    Args:
        eid: the execution that the verb is about; ``fold`` is of its journal.
        content: what is asked.

    Raises:
        DispatchConflict: the key was used on this execution for something else.
    """
    if key is None:
        return by
    if key in fold.applied:
        raise _conflict(f"execution {eid}", key, "an earlier request", verb)
    return await claim_command(ports, str(eid), f"execution {eid}", key, verb, content, by)


async def claim_command(
    ports: Ports, about: str, named: str, key: str, verb: str, content: dict[str, Data], by: Provenance
) -> Provenance:
    """The provenance of the first command with this key.

    Args:
        about: what the command is about, as part of the claim's name; ``named`` says it to people.
        content: what is asked.

    Raises:
        DispatchConflict: the key was used on it for something else.
    """
    name = f"command:{about}:{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    asked: dict[str, Data] = {"verb": verb, **content}
    stands = (await ports.dispatch.claim(name, {"asked": asked, "by": codec.dump(by)})).value
    first = cast("dict[str, Data]", stands)
    if first["asked"] != asked:
        raise _conflict(named, key, str(first["asked"]), verb)
    return codec.load(Provenance, first["by"])


async def forget_receipts(ports: Ports, eid: Eid) -> int:
    """Forget all receipts of an execution that is gone; returns how many."""
    count, last = 0, ""
    while found := await ports.dispatch.claims(f"command:{eid}:", after=last, limit=_BATCH):
        count, last = count + await _forget(ports, found), found[-1].key
    return count


async def forget_old_receipts(ports: Ports, before: Timestamp, after: str) -> tuple[int, str]:
    """Look at one batch of the receipts of queues, and forget those that were made before an instant.

    Args:
        after: where the last batch ended; after the last of all the first ones have their turn again.

    Returns:
        How many were forgotten, and where the batch ended.
    """
    found = await ports.dispatch.claims("command:queue:", after=after, limit=_BATCH)
    if after and not found:
        found = await ports.dispatch.claims("command:queue:", limit=_BATCH)
    old = [claim for claim in found if (at := _made_at(claim)) is not None and at < before]
    return await _forget(ports, old), found[-1].key if found else ""


async def _forget(ports: Ports, found: Sequence[StandingClaim]) -> int:
    count = 0
    for at in range(0, len(found), _SIDE_BY_SIDE):
        count += sum(await asyncio.gather(*map(ports.dispatch.forget_claim, found[at : at + _SIDE_BY_SIDE])))
    return count


def _made_at(claim: StandingClaim) -> Timestamp | None:
    """When it was made; None if that cannot be read here: then it is left for a retention that can."""
    by = claim.value.get("by") if isinstance(claim.value, dict) else None
    try:
        return None if by is None else codec.load(Provenance, by).at
    except InvalidValue:
        return None


def _conflict(named: str, key: str, earlier: str, verb: str) -> DispatchConflict:
    return DispatchConflict(
        f"key {key!r} was used on {named} for {earlier} and cannot stand for this {verb}; use another key"
    )
