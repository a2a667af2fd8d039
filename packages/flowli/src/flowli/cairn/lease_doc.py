"""What a lease is, read out of its document, and the rule by which it may be taken.

The fields ``{epoch, holder, ttl_s, requests, state, deaths}`` may stand in a document that holds other things as well
(a task is leased on its own key): those are kept by every operation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from flowli.cairn.document import Doc
from flowli.cairn.errors import StoreDamaged
from flowli.cairn.values import JSON
from flowli.world import ProcessIdentity, World

__all__ = ["Free", "Held", "LeaseDoc", "Observations", "StateChange", "new_state", "view", "why_free"]

StateChange: TypeAlias = "Mapping[str, JSON] | Callable[[dict[str, JSON]], Mapping[str, JSON]] | None"
"""A whole new state, or a function from the state that is there to the new one; None leaves it."""

_REMEMBERED = 8192


@dataclass(frozen=True, slots=True)
class LeaseDoc:
    """A lease as read or written.

    Attributes:
        key: where it is.
        epoch: how often it was acquired; 0 when never.
        holder: who has it, as JSON with the ``process`` of the holder; None when released.
        ttl_s: seconds without a write after which it may be taken.
        requests: what others ask of the holder, each with its ``id``.
        state: what the holder and others keep here.
        deaths: how often an expired, unreleased lease was taken.
        version: changes with every write.
        idle_s: seconds since it was written, at the moment it was read: by the store's clock where it has one, else
            how long this process has seen this version.
        doc: the whole document.
    """

    key: str
    epoch: int
    holder: dict[str, JSON] | None
    ttl_s: float
    requests: tuple[dict[str, JSON], ...]
    state: dict[str, JSON]
    deaths: int
    version: str
    idle_s: float
    doc: Doc = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Held:
    """The lease was not acquired: another has it (``doc``), or it does not exist and was not to be made (None)."""

    doc: LeaseDoc | None


class Free(Enum):
    """Why a lease may be taken."""

    NEVER_HELD = "never held"
    RELEASED = "released"
    EPOCH_ENDED = "its epoch ended"
    EXPIRED = "expired"
    DEAD = "its process is dead"


class Observations:
    """How long this process has seen each version unchanged, on its monotonic clock. The oldest are forgotten."""

    def __init__(self, world: World, remembered: int = _REMEMBERED) -> None:
        self._world = world
        self._remembered = remembered
        self._seen: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def observe(self, key: str, version: str, age_s: float | None = None) -> float:
        """Note that ``key`` has ``version`` now and return for how long it has had it.

        Args:
            age_s: what the store says, if it has a clock; it is then the answer.
        """
        if age_s is not None:
            return age_s
        now_s = self._world.monotonic_s()
        known = self._seen.get(key)
        if known is None or known[0] != version:
            self._seen[key] = (version, now_s)
            self._seen.move_to_end(key)
            while len(self._seen) > self._remembered:
                self._seen.popitem(last=False)
            return 0.0
        return now_s - known[1]

    def forget(self, key: str) -> None:
        """Drop what is known of ``key``."""
        self._seen.pop(key, None)


def view(doc: Doc, idle_s: float) -> LeaseDoc:
    """Read the lease out of a document. Absent fields mean a lease that was never held.

    Raises:
        StoreDamaged: a field has the wrong type.
    """
    body = doc.body
    epoch, holder, ttl_s = body.get("epoch", 0), body.get("holder"), body.get("ttl_s", 0)
    requests, state, deaths = body.get("requests", []), body.get("state", {}), body.get("deaths", 0)
    if not (
        isinstance(epoch, int)
        and isinstance(deaths, int)
        and (holder is None or isinstance(holder, dict))
        and isinstance(ttl_s, int | float)
        and isinstance(requests, list)
        and isinstance(state, dict)
    ):
        raise StoreDamaged(f"The document {doc.key!r} is not a lease", "Find out what else writes to this bucket")
    asked = tuple(one for one in requests if isinstance(one, dict))
    return LeaseDoc(doc.key, epoch, holder, float(ttl_s), asked, state, deaths, doc.version, idle_s, doc)


def why_free(lease: LeaseDoc, free_epoch: int | None, world: World) -> Free | None:
    """Why ``lease`` may be taken now, or None.

    Args:
        free_epoch: an epoch that the caller knows to have ended (its journal says so).
    """
    if lease.epoch == 0:
        return Free.NEVER_HELD
    if lease.holder is None:
        return Free.RELEASED
    if lease.epoch == free_epoch:
        return Free.EPOCH_ENDED
    if lease.idle_s >= lease.ttl_s:
        return Free.EXPIRED
    process = _process(lease.holder.get("process"))
    return Free.DEAD if process is not None and world.is_dead(process) else None


def new_state(lease: LeaseDoc, change: StateChange) -> dict[str, JSON]:
    """The state after ``change``."""
    if change is None:
        return lease.state
    return dict(change(dict(lease.state)) if callable(change) else change)


def _process(value: JSON) -> ProcessIdentity | None:
    if not isinstance(value, dict):
        return None
    host, pid = value.get("host"), value.get("pid")
    if not isinstance(host, str) or not isinstance(pid, int):
        return None
    rest = [value.get(name, "") for name in ("boot_id", "pid_namespace", "started")]
    return ProcessIdentity(host, pid, *(one if isinstance(one, str) else "" for one in rest))
