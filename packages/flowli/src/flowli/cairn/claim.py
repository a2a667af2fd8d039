"""Claims: of any number of callers with one key exactly one value wins, and all learn it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowli.cairn.objects import Created, Documents
from flowli.cairn.values import JSON

__all__ = ["Claimed", "Claims"]


@dataclass(frozen=True, slots=True)
class Claimed:
    """How a claim ended.

    Attributes:
        value: the value that won, whoever brought it.
        won: whether this call brought it.
    """

    value: JSON
    won: bool


class Claims:
    """Put-if-absent with read-back."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def claim(self, key: str, value: JSON) -> Claimed:
        """Claim ``key`` for ``value``. One request for the winner, two for a loser.

        Raises:
            NotStorable: ``value`` has no JSON form.
            OutcomeUnknown: it is unknown who won; the same call again finds out.
        """
        body: Mapping[str, JSON] = {"value": value}
        outcome = await self._documents.create(key, body)
        return Claimed(outcome.doc.body["value"], isinstance(outcome, Created))

    async def read(self, key: str) -> Claimed | None:
        """The value that won, with ``won`` False; None if nobody claimed it yet."""
        doc = await self._documents.read(key)
        return None if doc is None else Claimed(doc.body["value"], False)
