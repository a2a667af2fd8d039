"""Bodies beside the execution of a task, also those that are larger than one request may be.

1. Each part is kept as evidence of its own, under a name that listings do not show. *A crash after it*: the same part
   again changes nothing; any process of the service can be given the next one.
2. The last part finds the others and keeps the whole under its name. *A crash before it*: the last part again does it.
"""

from __future__ import annotations

from flowli_api.dto.tasks import EvidenceWritten
from flowli_api.problems import Problem
from flowli_api.service import Service
from flowli_api.worker.seal import Held

__all__ = ["MOST_BYTES", "MOST_PARTS", "keep"]

MOST_PARTS = 64
MOST_BYTES = 33_554_432
"""Of a whole body."""


async def keep(service: Service, held: Held, what: str, body: bytes, part: int, parts: int) -> EvidenceWritten:
    """Keep a body, or one of its parts.

    Args:
        part: from 1; the last one comes last.
        parts: of the whole body.

    Raises:
        Problem: ``invalid``: a part before the last is missing; ``payload_too_large``: the whole is.
    """
    evidence, task, delivery = service.engine.ports.evidence, held.lease.task, held.lease.epoch
    frame = task.key.replace("/", "~").replace("#", "=") or "task"
    name = f"delegate-{frame}.{delivery}.{delivery}/{what}"
    if part > parts:
        raise Problem("invalid", f"query.part: there are {parts} parts; {part} is none of them.")
    if part < parts:
        fresh = await evidence.put(task.target, _part(name, part, parts), body)
        return EvidenceWritten(name=name, fresh=fresh, whole=False)
    found = bytearray()
    for number in range(1, parts):
        piece = await evidence.get(task.target, _part(name, number, parts))
        if piece is None:
            raise Problem("invalid", f"query.part: part {number} of {parts} has not arrived; send it before the last.")
        found += piece
        if len(found) + len(body) > MOST_BYTES:
            raise Problem("payload_too_large", f"The body is larger than {MOST_BYTES:,} bytes, the limit of evidence.")
    fresh = await evidence.put(task.target, name, bytes(found) + body)
    return EvidenceWritten(name=name, fresh=fresh, whole=True)


def _part(name: str, number: int, parts: int) -> str:
    """No two cuttings of one body share a part."""
    return f"~{name}.{number}-{parts}"
