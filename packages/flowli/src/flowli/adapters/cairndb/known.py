"""What this process knows of tasks from earlier listings and reads: which tasks of a page are worth a request.

A task whose version has not changed since it was seen held is left alone until it has been unchanged for its ttl, or
its holder is certainly dead. So a page full of tasks that others hold costs no reads.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from flowli.adapters.cairndb.task_doc import not_before_of, process_of
from flowli.cairn.lease import Leases
from flowli.cairn.lease_doc import LeaseDoc
from flowli.cairn.store import Listed
from flowli.timestamp import Timestamp
from flowli.world import ProcessIdentity, World

__all__ = ["Cursor", "Known"]

_REMEMBERED = 8192
_MISSES = 0.25
_WEIGHT_OF_MISS, _WEIGHT_OF_HIT = 0.2, 0.02


@dataclass(frozen=True, slots=True)
class _Seen:
    """The last state of a task. ``gone``: there was nothing to take (removed, and a body stands for its absence)."""

    version: str
    held: bool = False
    ttl_s: float = 0.0
    process: ProcessIdentity | None = None
    not_before: Timestamp | None = None
    gone: bool = False


class Known:
    """The states of tasks as this process last saw them. The oldest are forgotten."""

    def __init__(self, leases: Leases, world: World) -> None:
        self._leases = leases
        self._world = world
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    def note(self, lease: LeaseDoc) -> None:
        """Remember a task as it was read or written."""
        held = lease.holder is not None
        self._put(lease.key, _Seen(lease.version, held, lease.ttl_s, process_of(lease), not_before_of(lease)))

    def note_gone(self, key: str, version: str | None) -> None:
        """Remember that this version of a key holds nothing to take."""
        if version is not None:
            self._put(key, _Seen(version, gone=True))

    def forget(self, key: str) -> None:
        """Drop what is known of a task."""
        self._seen.pop(key, None)

    def worth_a_look(self, items: Iterable[Listed], mine: Container[str] = ()) -> list[str]:
        """The keys of a page that may be free, those first that most likely are; otherwise in the order of the page.

        Args:
            mine: held by this process, which renews them perhaps by another connection.
        """
        first: list[str] = []
        later: list[str] = []
        now, dead = self._world.now(), dict[ProcessIdentity, bool]()
        for item in items:
            idle_s = self._leases.observe(item.key, item.version or "", item.age_s)
            seen = self._seen.get(item.key)
            if seen is None:
                first.append(item.key)
            elif item.version is not None and seen.version != item.version:
                if item.key not in mine or idle_s >= seen.ttl_s:
                    later.append(item.key)
            elif not seen.gone and self._free(seen, idle_s, now, dead):
                first.append(item.key)
        return first + later

    def _free(self, seen: _Seen, idle_s: float, now: Timestamp, dead: dict[ProcessIdentity, bool]) -> bool:
        if not seen.held:
            return seen.not_before is None or seen.not_before <= now
        if idle_s >= seen.ttl_s:
            return True
        process = seen.process
        if process is None:
            return False
        if process not in dead:
            dead[process] = self._world.is_dead(process)
        return dead[process]

    def _put(self, key: str, seen: _Seen) -> None:
        self._seen[key] = seen
        self._seen.move_to_end(key)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)


class Cursor:
    """Where in a queue this process goes on listing, and how often it comes too late.

    Attributes:
        after: the key after which the next page begins; None for the start.
    """

    def __init__(self) -> None:
        self.after: str | None = None
        self._restart_s = 0.0
        self._misses = 0.0

    def begin(self, now_s: float, ttl_s: float) -> None:
        """A dequeue begins: back to the start of the queue every half ttl."""
        if self.after is None or now_s >= self._restart_s:
            self.after, self._restart_s = None, now_s + ttl_s / 2

    def back_to(self, key: str) -> None:
        """A task under ``key`` may be taken now: do not list past it."""
        if self.after is not None and key <= self.after:
            self.after = None

    def count(self, *, hit: bool) -> None:
        """A task was taken, or somebody else took it a moment before."""
        # Who found a place of its own takes well there: that is no sign that the others have gone.
        if hit:
            self._misses -= _WEIGHT_OF_HIT * self._misses
        else:
            self._misses += _WEIGHT_OF_MISS * (1.0 - self._misses)

    @property
    def contended(self) -> bool:
        """Whether workers get in each other's way."""
        return self._misses > _MISSES

    def spread(self, keys: Sequence[str], holder: str) -> list[str]:
        """The keys in the order to try them: from a place of this holder's own when workers get in each other's way."""
        if not self.contended or len(keys) < 2:
            return list(keys)
        offset = zlib.crc32(holder.encode()) % len(keys)
        return [*keys[offset:], *keys[:offset]]
