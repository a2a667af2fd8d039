"""Judges: what the object that is under a key now says about a conditional write whose answer was lost.

Each returns how the write ended, or None when it was not applied so far and its condition still holds: the same write
may be sent again, and at most one of the two is applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from flowli.cairn.document import HISTORY, PASSED, write_ids_of
from flowli.cairn.errors import OutcomeUnknown
from flowli.cairn.settle import Judge
from flowli.cairn.store import Object
from flowli.cairn.write import Gone, Lost, Won

__all__ = ["Mine", "by_bytes", "by_write_id", "created", "removed", "replaced", "swapped"]

Mine: TypeAlias = Callable[[Object], Won | None]
"""Recognizes the caller's own write in an object, with the version by which it is known."""


def by_write_id(key: str, write_id: str) -> Mine:
    """A document is the caller's when its history holds the caller's write id."""

    def mine(found: Object) -> Won | None:
        history = write_ids_of(key, found)
        if write_id not in history:
            return None
        # Overwritten since: the version that is there belongs to a body this caller has not seen.
        return Won(found.version if history[-1] == write_id else PASSED)

    return mine


def by_bytes(data: bytes) -> Mine:
    """Plain bytes are the caller's when they are equal: their names are derived so that equal bytes are one thing."""
    return lambda found: Won(found.version) if found.data == data else None


def created(mine: Mine) -> Judge:
    """For a create-only write."""
    return lambda found: None if found is None else mine(found) or Lost()


def replaced(mine: Mine, version: str) -> Judge:
    """For a write over ``version``."""

    def judge(found: Object | None) -> Won | Lost | Gone | None:
        if found is None:
            return Gone()
        return None if found.version == version else mine(found) or Lost()

    return judge


def swapped(key: str, version: str, base: tuple[str, ...], write_id: str) -> Judge:
    """For a document written over ``version``, whose history was ``base``.

    Raises (when judging):
        OutcomeUnknown: eight others have written since, so that the history does not reach back.
    """
    plain = replaced(by_write_id(key, write_id), version)

    def judge(found: Object | None) -> Won | Lost | Gone | None:
        verdict = plain(found)
        if isinstance(verdict, Lost) and found is not None:
            history = write_ids_of(key, found)
            if len(history) >= HISTORY and base[-1:] and base[-1] not in history:
                raise OutcomeUnknown(
                    f"Whether the write of {key!r} was applied is unknown, others have written it many times since",
                    "Read it and decide again",
                )
        return verdict

    return judge


def removed(version: str) -> Judge:
    """For a conditional delete: absent counts as removed by this caller."""

    def judge(found: Object | None) -> Won | Lost | Gone | None:
        if found is None:
            return Won()
        return None if found.version == version else Lost()

    return judge
