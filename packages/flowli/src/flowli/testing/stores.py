"""Stores for tests, wrapped around any other: one records and counts requests, one also makes them fail by script."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TypeAlias, TypeVar

from flowli.cairn.store import Capabilities, Object, ObjectStore, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won

__all__ = [
    "ApplyLater",
    "CountingStore",
    "Counts",
    "CutListing",
    "DropReply",
    "Fault",
    "FaultStore",
    "Hold",
    "LoseRequest",
    "Refuse",
    "Request",
]

T = TypeVar("T")

Result: TypeAlias = Won | Lost | Gone | Unknown


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the store inside received it, or did not.

    Attributes:
        verb: ``get``, ``put``, ``delete``, ``delete_many`` or ``list``.
        key: the key or prefix; the first key of a ``delete_many``.
        condition: ``absent``, a version, or "".
        sent: bytes of the body sent.
        received: bytes of the body received.
        outcome: name of the type of the answer (``Won``, ``Object``, ``NoneType``, …) or of the error.
    """

    verb: str
    key: str
    condition: str = ""
    sent: int = 0
    received: int = 0
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many requests of each kind, and how many bytes of bodies."""

    get: int = 0
    put: int = 0
    list: int = 0
    delete: int = 0
    delete_many: int = 0
    sent: int = 0
    received: int = 0

    @property
    def put_class(self) -> int:
        """What a cloud store bills as a write: writes and listings."""
        return self.put + self.list

    @classmethod
    def of(cls, requests: Iterable[Request]) -> Counts:
        """Count requests."""
        made = tuple(requests)
        verbs = Counter(one.verb for one in made)
        return cls(
            get=verbs["get"],
            put=verbs["put"],
            list=verbs["list"],
            delete=verbs["delete"],
            delete_many=verbs["delete_many"],
            sent=sum(one.sent for one in made),
            received=sum(one.received for one in made),
        )


class CountingStore:
    """Records every request. A fork writes into the same record.

    Attributes:
        store: the one inside.
        requests: all requests so far, in the order in which they were answered.
    """

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.requests: list[Request] = []

    def snapshot(self) -> int:
        """A mark for ``since``."""
        return len(self.requests)

    def since(self, mark: int = 0, key: str = "*") -> Counts:
        """Count the requests after a mark, for keys that match a glob pattern."""
        return Counts.of(one for one in self.requests[mark:] if fnmatchcase(one.key, key))

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
        return await self._through(Request("get", key), lambda: self.store.get(key))

    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        """Write a key."""
        request = Request("put", key, "absent" if if_absent else if_version or "", len(data))
        return await self._write(request, lambda: self.store.put(key, data, if_absent=if_absent, if_version=if_version))

    async def delete(self, key: str, *, if_version: str | None = None) -> Result:
        """Delete a key."""
        request = Request("delete", key, if_version or "")
        return await self._write(request, lambda: self.store.delete(key, if_version=if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys."""
        some = list(keys)
        await self._through(Request("delete_many", some[0] if some else ""), lambda: self.store.delete_many(some))

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """List a page."""
        return await self._through(
            Request("list", prefix), lambda: self.store.list(prefix, after=after, limit=limit, versions=versions)
        )

    def fork(self) -> CountingStore:
        """A wrapped fork with the same record."""
        other = CountingStore(self.store.fork())
        other.requests = self.requests
        return other

    async def close(self) -> None:
        """Close the store inside."""
        await self.store.close()

    async def _write(self, request: Request, apply: Callable[[], Awaitable[Result]]) -> Result:
        return await self._through(request, apply)

    async def _through(self, request: Request, apply: Callable[[], Awaitable[T]]) -> T:
        try:
            answer = await apply()
        except BaseException as error:
            self.requests.append(replace(request, outcome=type(error).__name__))
            raise
        received = len(answer.data) if isinstance(answer, Object) else 0
        self.requests.append(replace(request, received=received, outcome=type(answer).__name__))
        return answer


@dataclass(frozen=True, slots=True)
class DropReply:
    """A write is applied, and its answer is lost: ``Unknown``."""


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """A write is never applied, and nobody knows: ``Unknown``."""


@dataclass(frozen=True, slots=True)
class ApplyLater:
    """A write is answered with ``Unknown`` and applied when the test calls ``FaultStore.land``."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request raises ``error`` and is not applied."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Hold:
    """The request waits until the test opens the gate.

    Attributes:
        after: wait after it was applied, before it is answered.
        reached: set when a request waits here.
        gate: to be set by the test.
    """

    after: bool = False
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class CutListing:
    """A listing ends after ``size`` keys and says that more follow."""

    size: int


Action: TypeAlias = DropReply | LoseRequest | ApplyLater | Refuse | Hold | CutListing


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to which requests.

    Attributes:
        action: what happens.
        verb: to requests of this verb; ``*`` for any.
        key: whose key or prefix matches this glob pattern.
        nth: from the n-th of them on, counted from 1.
        times: to so many of them.
    """

    action: Action
    verb: str = "put"
    key: str = "*"
    nth: int = 1
    times: int = 1


class FaultStore(CountingStore):
    """Makes requests fail by script; also records them. The first fault that matches counts."""

    def __init__(self, store: ObjectStore, script: Sequence[Fault] = ()) -> None:
        super().__init__(store)
        self.script = list(script)
        self._met: dict[int, int] = {}
        self._late: list[Callable[[], Awaitable[Result]]] = []

    async def land(self) -> list[Result]:
        """Apply the writes that were put off, in order; returns what the store answered."""
        late, self._late = self._late, []
        return [await apply() for apply in late]

    def fork(self) -> FaultStore:
        """A wrapped fork with the same record and script."""
        other = FaultStore(self.store.fork())
        other.requests, other.script, other._met, other._late = self.requests, self.script, self._met, self._late
        return other

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """List a page, perhaps cut."""
        action = self._action("list", prefix)
        if isinstance(action, CutListing):
            size = action.size if limit is None else min(limit, action.size)
            return await super().list(prefix, after=after, limit=size, versions=versions)
        await self._before(action)
        return await super().list(prefix, after=after, limit=limit, versions=versions)

    async def get(self, key: str) -> Object | None:
        """Read a key, perhaps in vain."""
        action = self._action("get", key)
        await self._before(action)
        found = await super().get(key)
        if isinstance(action, Hold) and action.after:
            await _wait(action)
        return found

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys, perhaps in vain."""
        some = list(keys)
        await self._before(self._action("delete_many", some[0] if some else ""))
        await super().delete_many(some)

    async def _write(self, request: Request, apply: Callable[[], Awaitable[Result]]) -> Result:
        action = self._action(request.verb, request.key)
        await self._before(action)
        match action:
            case LoseRequest():
                return Unknown("the request was lost")
            case ApplyLater():
                self._late.append(lambda: self._through(request, apply))
                return Unknown("the request is late")
        result = await self._through(request, apply)
        match action:
            case DropReply():
                return Unknown("the answer was lost")
            case Hold(after=True):
                await _wait(action)
        return result

    async def _before(self, action: Action | None) -> None:
        match action:
            case Refuse(error):
                raise error
            case Hold(after=False):
                await _wait(action)

    def _action(self, verb: str, key: str) -> Action | None:
        for index, fault in enumerate(self.script):
            if fault.verb in ("*", verb) and fnmatchcase(key, fault.key):
                self._met[index] = met = self._met.get(index, 0) + 1
                if fault.nth <= met < fault.nth + fault.times:
                    return fault.action
        return None


async def _wait(hold: Hold) -> None:
    hold.reached.set()
    await hold.gate.wait()
