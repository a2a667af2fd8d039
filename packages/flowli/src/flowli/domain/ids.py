"""Ids and names: checked at the edge, so that keys are only ever built from checked parts."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID, uuid5

from flowli.domain.errors import InvalidName

__all__ = [
    "ROOT",
    "Eid",
    "Fid",
    "FrameRef",
    "check_key",
    "check_name",
    "child_eid",
    "frame_hash",
    "frame_id",
    "parse_eid",
    "role_eid",
]

Eid: TypeAlias = UUID
"""An execution: UUIDv7 when started, UUIDv5 of ``{parent eid}/{fid}`` for a child."""

Fid: TypeAlias = str
"""A frame: its path from the root, ``root/charge#1`` or ``root/charge:INV-7``."""

ROOT: Fid = "root"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_@=+~:-][A-Za-z0-9._@=+~:-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class FrameRef:
    """One frame of one execution."""

    eid: Eid
    fid: Fid


def check_name(kind: str, name: str) -> str:
    """Return ``name`` if it can be part of a key.

    Args:
        kind: the word for the message: ``queue``, ``channel``, ``workflow``, ``frame``, ``key``.

    Raises:
        InvalidName: it is not made of 1 to 128 ASCII letters, digits, ``_`` and ``-``.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidName(f"{kind} {name!r} is not a name: use 1 to 128 ASCII letters, digits, '_' or '-'")
    return name


def check_key(kind: str, key: str) -> str:
    """Return ``key`` if it can be a dispatch key, claim key or lease name: a business key such as ``order:17@eu``.

    Raises:
        InvalidName: it is not made of 1 to 200 ASCII letters, digits and ``_ - . : @ = + ~``, or starts with a dot.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidName(
            f"{kind} {key!r} cannot be used: use 1 to 200 ASCII letters, digits or '_-.:@=+~', not starting with a dot"
        )
    return key


def parse_eid(text: str) -> Eid:
    """Read an execution id in its usual form.

    Raises:
        InvalidName: it is no UUID.
    """
    try:
        eid = UUID(text)
    except (ValueError, AttributeError, TypeError):
        raise InvalidName(
            f"{text!r} is not an execution id: it has the form 0197a1b2-0000-7000-8000-000000000000"
        ) from None
    if str(eid) != text.lower():
        raise InvalidName(f"{text!r} is not written as an execution id; did you mean {eid}?")
    return eid


def child_eid(parent: Eid, fid: Fid) -> Eid:
    """The id of the child started by frame ``fid``: starting it twice is one child."""
    return uuid5(parent, f"{parent}/{fid}")


_ROLES = UUID("c2a7a6cc-6f0b-5b39-9f4e-2f6c1e0b7a11")


def role_eid(name: str) -> Eid:
    """The synthetic id under which the lease called ``name`` stands at the ``Ownership`` port."""
    return uuid5(_ROLES, f"role:{check_key('lease name', name)}")


def frame_hash(fid: Fid) -> str:
    """Names a frame in keys of tasks and timers, whatever its path is made of."""
    return hashlib.sha256(fid.encode()).hexdigest()[:16]


def frame_id(parent: Fid, name: str, *, count: int | None = None, key: str | None = None) -> Fid:
    """``parent/name#count`` or ``parent/name:key``."""
    return f"{parent}/{name}:{key}" if key is not None else f"{parent}/{name}#{count}"
