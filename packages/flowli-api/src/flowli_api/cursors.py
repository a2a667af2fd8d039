"""Cursors: where a list goes on. Callers cannot read them and need not; any process can go on from them."""

from __future__ import annotations

import base64
import binascii
import hashlib

import orjson

from flowli_api.problems import Problem

__all__ = ["open_cursor", "seal_cursor"]


def seal_cursor(place: str | None, of: object) -> str | None:
    """The cursor for a place in a list; None after its end.

    Args:
        of: what was asked; a cursor goes on with the same question only.
    """
    if place is None:
        return None
    return base64.urlsafe_b64encode(orjson.dumps([_digest(of), place])).decode().rstrip("=")


def open_cursor(cursor: str | None, of: object) -> str | None:
    """The place that ``seal_cursor`` was given.

    Raises:
        Problem: ``unknown_cursor``: it is no cursor, or one of another question.
    """
    if cursor is None:
        return None
    try:
        digest, place = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, binascii.Error):
        raise Problem("unknown_cursor", "No page gave this cursor; begin without one.") from None
    if digest != _digest(of) or not isinstance(place, str):
        raise Problem("unknown_cursor", "The cursor is of another list or another filter; begin without one.")
    return place


def _digest(of: object) -> str:
    return hashlib.sha256(orjson.dumps(of, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
