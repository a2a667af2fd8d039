"""Who wrote something, where, with which code, when: on every entry, task and message."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from enum import StrEnum

from flowli.domain.data import Data
from flowli.timestamp import Timestamp

__all__ = ["Actor", "ActorKind", "Code", "Provenance", "Site"]


class ActorKind(StrEnum):
    """What kind of party acted."""

    WORKER = "worker"
    HUMAN = "human"
    SYSTEM = "system"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Actor:
    """The party that acted; ``on_behalf_of`` names the one it acted for."""

    kind: ActorKind
    id: str
    on_behalf_of: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A process. ``epoch`` is that of the lease under which it acted, 0 without one.

    Attributes:
        worker_id: the name given by whoever deploys it; names the holder of leases.
        host: host name.
        pid: process id.
        instance: differs for each start of the process.
        region: where it runs; "" if it does not matter.
    """

    worker_id: str
    host: str = ""
    pid: int = 0
    instance: str = ""
    region: str = ""
    epoch: int = 0

    @classmethod
    def local(cls, worker_id: str, *, region: str = "") -> Site:
        """This process, under the name ``worker_id``."""
        return cls(worker_id, socket.gethostname(), os.getpid(), region=region)

    def at_epoch(self, epoch: int) -> Site:
        """The same site acting under the lease of ``epoch``."""
        return replace(self, epoch=epoch)


@dataclass(frozen=True, slots=True)
class Code:
    """The code that produced something. ``python`` is the minor version, ``3.11``: replay is exact within one."""

    workflow: str
    version: str
    frame_kind: str = ""
    frame_name: str = ""
    code_ref: str = ""
    python: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who, where, with what, which attempt, when, in which trace.

    Attributes:
        trace: W3C trace context: a ``traceparent``, and behind a blank a ``tracestate`` if there is one; "" for none.
        more: fields that a newer release wrote; they are kept when the object is written anew.
    """

    actor: Actor
    site: Site
    at: Timestamp
    code: Code | None = None
    attempt: int = 0
    trace: str = ""
    more: dict[str, Data] | None = None
