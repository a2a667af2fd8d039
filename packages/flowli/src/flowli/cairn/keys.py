"""The rules for keys, checked before any store is asked, the same for every store.

A key is a non-empty ASCII path: parts joined by ``/``, none empty, ``.`` or ``..``, no control character, no
backslash, at most ``MAX_KEY_BYTES`` long. The limit leaves room for the prefix of a bucket URL under the 1,024 bytes
of cloud stores.
"""

from __future__ import annotations

import re

from flowli.cairn.errors import KeyRefused
from flowli.timestamp import Timestamp

__all__ = ["INSTANT", "MAX_KEY_BYTES", "check_key", "check_prefix", "instant_of", "instant_part"]

MAX_KEY_BYTES = 900
"""The longest key of any object, whatever the store would take."""

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
"""The form of an instant inside a key: that of ``Timestamp``, so that keys sort as time does."""

_KEY = re.compile(r"(?!\.{1,2}(?:/|$))[ -.0-\[\]-~]+(?:/(?!\.{1,2}(?:/|$))[ -.0-\[\]-~]+)*", re.ASCII)
_SHOWN = 80


def check_key(key: str, limit: int = MAX_KEY_BYTES) -> str:
    """Return ``key`` if it may name an object.

    Args:
        key: what is to be checked.
        limit: the most bytes; a store with a smaller limit passes its own.

    Raises:
        KeyRefused: it may not; the message names the rule.
    """
    if len(key) <= limit and _KEY.fullmatch(key) and not key.endswith("\n"):
        return key
    raise KeyRefused(f"The key {_shown(key)} {_fault(key, limit)}", "Use plain ASCII parts joined by single slashes")


def check_prefix(prefix: str, limit: int = MAX_KEY_BYTES) -> str:
    """Return ``prefix`` if keys may start with it: empty, or a key cut anywhere after its first character.

    Raises:
        KeyRefused: no key can start with it.
    """
    if prefix:
        # A last part of dots may be the beginning of a longer name; one more letter makes it a whole one.
        check_key(prefix + "x", limit + 1)
    return prefix


def instant_part(instant: Timestamp) -> str:
    """The text of ``instant`` for use in a key."""
    return str(instant)


def instant_of(part: str) -> Timestamp | None:
    """The instant that a part of a key begins with, or None."""
    found = INSTANT.match(part)
    try:
        return Timestamp.parse(found.group()) if found else None
    except ValueError:
        return None


def _shown(key: str) -> str:
    return repr(key) if len(key) <= _SHOWN else f"{key[:_SHOWN]!r}… ({len(key)} characters)"


def _fault(key: str, limit: int) -> str:
    parts = key.split("/")
    if not key:
        return "is empty"
    if not key.isascii():
        return "has a character outside ASCII"
    if len(key) > limit:
        return f"is {len(key)} bytes long and the limit is {limit}"
    if "" in parts:
        return "has an empty part"
    if "." in parts or ".." in parts:
        return "has a part that is '.' or '..'"
    return "has a backslash" if "\\" in key else "has a control character"
