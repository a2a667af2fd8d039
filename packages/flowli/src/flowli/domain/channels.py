"""Channels: ordered messages to executions."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.data import Data
from flowli.domain.execution import DEFAULT_PRIORITY
from flowli.domain.ids import Eid, Fid, check_name
from flowli.domain.provenance import Provenance

__all__ = ["Message", "WaitMarker", "global_channel", "scoped_channel"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        id: ``{eid}/{fid}`` when a workflow sent it, else given by the caller or drawn; readers ignore a repeated id.
        channel: full name.
        payload: JSON-compatible.
        sent_by: who, where, when.
        correlation: lets a receiver wait for one of several answers.
        seq: place in the channel from 1; 0 while it is not yet sent.
        commit: the commit that holds it; a read after ``Position(commit - 1, ...)`` begins with it.
    """

    id: str
    channel: str
    payload: Data
    sent_by: Provenance
    correlation: str | None = None
    seq: int = 0
    commit: int = 0


@dataclass(frozen=True, slots=True)
class WaitMarker:
    """Says to senders that an execution waits on a channel, and where its tasks go.

    Attributes:
        epoch: of the owner that wrote it.
        fids: the frames that wait.
    """

    channel: str
    eid: Eid
    epoch: int
    fids: tuple[Fid, ...]
    queue: str = "default"
    priority: int = DEFAULT_PRIORITY


def scoped_channel(eid: Eid, name: str) -> str:
    """The full name of an execution's own channel.

    Raises:
        InvalidName: ``name`` is not a name.
    """
    return f"{eid}.{check_name('channel', name)}"


def global_channel(name: str) -> str:
    """The full name of a channel that belongs to no execution: the name itself, which holds no dot.

    Raises:
        InvalidName: ``name`` is not a name.
    """
    return check_name("channel", name)
