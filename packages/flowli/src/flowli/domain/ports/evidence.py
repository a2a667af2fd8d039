"""``Evidence``: attempt logs, attachments, offloaded values and detached outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowli.domain.ids import Eid

__all__ = ["Evidence"]


class Evidence(Protocol):
    """Named bodies per execution, each written once.

    A name is a path of checked parts, ``{frame}.{attempt}.{epoch}/{what}``.
    """

    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        """Write a body if there is none; False if there is."""

    async def get(self, eid: Eid, name: str) -> bytes | None:
        """Read a body."""

    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        """The names that start with ``prefix``, in order."""

    async def delete(self, eid: Eid) -> None:
        """Remove all evidence of an execution."""
