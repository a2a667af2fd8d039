"""Watching the requests to a store: which, how they ended, how long they took, how much they carried.

``observed(store, observer)`` is the same store, and tells the observer of every request when it has ended::

    >>> counts = RequestCounts()
    >>> backend = CairnBackend(observed(open_store("s3://my-bucket/flows"), counts))
    >>> counts.rows()

One call of ``ObjectStore`` is one request, but for what the stores say of themselves: a conditional write that fails on
Azure or Google costs a look more, and ``delete_many`` as many requests as the keys need.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from flowli.cairn.errors import StoreError, StoreThrottled
from flowli.cairn.store import Capabilities, Object, ObjectStore, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import SYSTEM, World

__all__ = [
    "CountedRequests",
    "ObservedRequest",
    "ObservedStore",
    "RequestCounts",
    "RequestObserver",
    "RequestOutcome",
    "observed",
]

T = TypeVar("T")


class RequestOutcome(StrEnum):
    """How a request ended."""

    DONE = "done"
    ABSENT = "absent"
    LOST = "lost"
    GONE = "gone"
    UNKNOWN = "unknown"
    THROTTLED = "throttled"
    REFUSED = "refused"
    ABANDONED = "abandoned"


_WRITES = {Won: RequestOutcome.DONE, Lost: RequestOutcome.LOST, Gone: RequestOutcome.GONE}


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request that has ended.

    Attributes:
        verb: ``get``, ``put``, ``delete``, ``delete_many`` or ``list``.
        key: the key or prefix; empty for ``delete_many``.
        outcome: how it ended.
        seconds: how long it took, waiting for a free connection included.
        sent_bytes, received_bytes: of bodies.
    """

    verb: str
    key: str
    outcome: RequestOutcome
    seconds: float
    sent_bytes: int = 0
    received_bytes: int = 0


class RequestObserver(Protocol):
    """Is told of every request. Forks tell it from their own threads; it must be quick and must not raise."""

    def __call__(self, request: ObservedRequest, /) -> None:
        """Note one request."""


@dataclass(frozen=True, slots=True)
class CountedRequests:
    """The requests of one verb that ended in one way.

    Attributes:
        verb, outcome: which.
        requests: how many.
        seconds: how long they took together.
        sent_bytes, received_bytes: of bodies.
    """

    verb: str
    outcome: RequestOutcome
    requests: int = 0
    seconds: float = 0.0
    sent_bytes: int = 0
    received_bytes: int = 0


class RequestCounts:
    """An observer that counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, RequestOutcome], CountedRequests] = {}

    def __call__(self, request: ObservedRequest, /) -> None:
        """Count one request."""
        name = (request.verb, request.outcome)
        with self._lock:
            one = self._counts.get(name) or CountedRequests(*name)
            self._counts[name] = CountedRequests(
                *name,
                one.requests + 1,
                one.seconds + request.seconds,
                one.sent_bytes + request.sent_bytes,
                one.received_bytes + request.received_bytes,
            )

    def rows(self) -> tuple[CountedRequests, ...]:
        """All counts so far, by verb and outcome."""
        with self._lock:
            return tuple(self._counts[name] for name in sorted(self._counts))

    @property
    def throttled(self) -> int:
        """How many requests the store put off."""
        return sum(one.requests for one in self.rows() if one.outcome is RequestOutcome.THROTTLED)


def observed(store: ObjectStore, observer: RequestObserver, *, world: World = SYSTEM) -> ObservedStore:
    """The same store, whose requests ``observer`` is told of.

    Args:
        world: measures how long they take.
    """
    return ObservedStore(store, observer, world)


class ObservedStore:
    """See ``observed``.

    Attributes:
        store: the one inside.
    """

    def __init__(self, store: ObjectStore, observer: RequestObserver, world: World) -> None:
        self.store = store
        self._observer = observer
        self._world = world

    @property
    def url(self) -> str:
        """That of the store inside."""
        return self.store.url

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store inside."""
        return self.store.capabilities

    async def get(self, key: str) -> Object | None:
        """Read a key."""
        return await self._watch("get", key, 0, self.store.get(key))

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key."""
        write = self.store.put(key, data, if_absent=if_absent, if_version=if_version)
        return await self._watch("put", key, len(data), write)

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key."""
        return await self._watch("delete", key, 0, self.store.delete(key, if_version=if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys."""
        await self._watch("delete_many", "", 0, self.store.delete_many(keys))

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """List a page."""
        page = self.store.list(prefix, after=after, limit=limit, versions=versions)
        return await self._watch("list", prefix, 0, page)

    def fork(self) -> ObservedStore:
        """A fork that the same observer is told of."""
        return ObservedStore(self.store.fork(), self._observer, self._world)

    async def close(self) -> None:
        """Close the store inside."""
        await self.store.close()

    async def _watch(self, verb: str, key: str, sent: int, request: Awaitable[T]) -> T:
        begun_s = self._world.monotonic_s()
        outcome, received = RequestOutcome.ABANDONED, 0
        try:
            answer = await request
            outcome = _outcome(verb, answer)
            received = len(answer.data) if isinstance(answer, Object) else 0
            return answer
        except StoreError as error:
            outcome = RequestOutcome.THROTTLED if isinstance(error, StoreThrottled) else RequestOutcome.REFUSED
            raise
        finally:
            took_s = self._world.monotonic_s() - begun_s
            self._observer(ObservedRequest(verb, key, outcome, took_s, sent, received))


def _outcome(verb: str, answer: object) -> RequestOutcome:
    if isinstance(answer, Unknown):
        return RequestOutcome.UNKNOWN
    if verb == "get" and answer is None:
        return RequestOutcome.ABSENT
    return _WRITES.get(type(answer), RequestOutcome.DONE)
