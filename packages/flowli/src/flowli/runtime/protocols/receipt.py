"""Keys of commands: a verb that makes something new does it once for each key, whoever repeats it.

The claim ``command:{eid}:{hash of the key}`` (of a queue: ``command:queue:{queue}:...``) holds what was asked and by
whom. Every call with the key does what the first one asked, with the first one's provenance, so that all of them write
the same; one that asks for something else is refused. Verbs that act on an execution itself need no claim: their
requests carry the key (``ask``).
"""

from __future__ import annotations

import hashlib
from typing import cast

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import DispatchConflict
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports
from flowli.domain.provenance import Provenance

__all__ = ["claim_command", "first_call"]


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


def _conflict(named: str, key: str, earlier: str, verb: str) -> DispatchConflict:
    return DispatchConflict(
        f"key {key!r} was used on {named} for {earlier} and cannot stand for this {verb}; use another key"
    )
