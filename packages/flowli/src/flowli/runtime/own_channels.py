"""The channels that the engine itself keeps for an execution. Their names begin with an underscore."""

from __future__ import annotations

import hashlib

from flowli.domain.channels import scoped_channel
from flowli.domain.ids import Eid, check_key, check_name

__all__ = ["lease_channel", "published_channel", "reply_channel", "stream_channel", "update_channel"]


def update_channel(eid: Eid, name: str) -> str:
    """Where updates called ``name`` arrive."""
    return _own(eid, "update", name)


def reply_channel(eid: Eid, name: str) -> str:
    """Where the answers to updates called ``name`` are found."""
    return _own(eid, "reply", name)


def published_channel(eid: Eid, name: str) -> str:
    """Where the values published as ``name`` stand."""
    return _own(eid, "published", name)


def stream_channel(eid: Eid, name: str) -> str:
    """Where the items of the stream ``name`` stand."""
    return _own(eid, "stream", name)


def lease_channel(eid: Eid, name: str) -> str:
    """Where the execution is told that the lease ``name`` is free."""
    return scoped_channel(eid, f"_lease-{hashlib.sha256(check_key('lease name', name).encode()).hexdigest()[:32]}")


def _own(eid: Eid, kind: str, name: str) -> str:
    return scoped_channel(eid, f"_{kind}-{check_name(kind, name)}")
