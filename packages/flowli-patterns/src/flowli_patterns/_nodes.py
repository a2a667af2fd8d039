"""Names made of the path of a node, so that they are unique in the execution."""

from __future__ import annotations

import hashlib

from flowli.domain.ids import Fid

__all__ = ["channel_of", "channel_of_name", "short_name"]

_LONGEST = 90


def short_name(node: Fid) -> str:
    """The node as a part of keys that people can read: ``review-1``, ``fan_out-1.item-3.review-1``."""
    name = node.removeprefix("root/").replace("/", ".").replace("#", "-").replace(":", "=")
    return name if len(name) <= _LONGEST else f"{name[:40]}.{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def channel_of(node: Fid) -> str:
    """The channel of this execution on which the pattern of that node receives."""
    return channel_of_name(short_name(node))


def channel_of_name(name: str) -> str:
    """The same, from the short name."""
    if "." in name or "=" in name:
        name = f"{name.rpartition('.')[2].partition('=')[0]}-{hashlib.sha256(name.encode()).hexdigest()[:24]}"
    return f"_{name}"
