"""Where a value belongs: what it is bound to when it is encrypted, and where its body goes when it is large."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid5

from flowli.domain.ids import Eid

__all__ = [
    "Place",
    "archive_home",
    "of_archive",
    "of_channel",
    "of_claim",
    "of_evidence",
    "of_execution",
    "of_snapshot",
]


@dataclass(frozen=True, slots=True)
class Place:
    """One place.

    Attributes:
        context: what encryption binds a value to.
        home: under whose evidence the bodies of large values are put, to be deleted with it; None where no execution
            owns the value: such values stay inline.
        label: for messages.
    """

    context: bytes
    home: Eid | None
    label: str


def of_execution(eid: Eid) -> Place:
    """Arguments, results, errors and tasks of an execution."""
    return Place(b"execution:" + eid.bytes, eid, f"execution {eid}")


def of_archive(eid: Eid) -> Place:
    """The same in the archive."""
    return Place(b"execution:" + eid.bytes, archive_home(eid), f"the archive of execution {eid}")


def archive_home(eid: Eid) -> Eid:
    """Under what id the bodies of an archive are put: they outlive the evidence of the execution."""
    return uuid5(eid, "archive")


def of_channel(channel: str) -> Place:
    """The messages of a channel. The bodies of an execution's own channel go with the execution."""
    owner, dot, _ = channel.partition(".")
    return Place(b"channel:" + channel.encode(), UUID(owner) if dot else None, f"channel {channel!r}")


def of_claim(key: str) -> Place:
    """The value of a claim."""
    return Place(b"claim:" + key.encode(), None, f"claim {key!r}")


def of_evidence(eid: Eid, name: str) -> Place:
    """One piece of evidence."""
    return Place(b"evidence:" + eid.bytes + name.encode(), eid, f"evidence {name!r} of execution {eid}")


def of_snapshot(made: str, number: int) -> Place:
    """One part of a snapshot of the control log."""
    return Place(f"snapshot:{made}/{number}".encode(), None, f"part {number} of a snapshot of the control log")
