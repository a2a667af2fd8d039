"""``ObjectStore``: what a storage plugin implements. Everything else in flowli stands on these five operations.

Contract of every store:

* **Atomic.** A key is absent or holds the whole of one body. Readers see the old body or the new one, never a mixture.
* **Durable.** When ``put`` or ``delete`` returns ``Won`` the change survives a crash of this process and of the store.
* **Read after write.** A ``get`` or ``list`` that starts after a write returned sees that write, from any process.
* **Conditional.** ``if_absent`` and ``if_version`` are decided by the store; of any number of writers with one
  condition at most one gets ``Won``.
* **Honest.** A write whose fate is not known returns ``Unknown``: a time-out after sending, an answer lost, a
  conflict of requests in flight. It is never reported as ``Lost``.
* **Concurrency.** Any number of calls may be under way at once on one event loop. Another thread or loop uses
  ``fork()``.

The conformance suite is ``flowli.testing.suites.ObjectStoreSuite``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from flowli.cairn.keys import MAX_KEY_BYTES
from flowli.cairn.write import Gone, Lost, Unknown, Won

__all__ = ["Capabilities", "Listed", "Object", "ObjectStore", "Page"]


@dataclass(frozen=True, slots=True)
class Object:
    """One stored object.

    Attributes:
        data: the whole body.
        version: changes with every write of the key; opaque.
        age_s: seconds since it was written by the store's own clock; None where the store has no clock of its own.
    """

    data: bytes
    version: str
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a listing. ``version`` is None where the store lists names only."""

    key: str
    version: str | None = None
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to ``list``: keys in lexical order, and whether more follow the last of them."""

    items: tuple[Listed, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What differs between stores.

    Attributes:
        max_key_bytes: longest key in UTF-8.
        delete_many_size: how many keys one ``delete_many`` request carries.
        conditional_delete: whether ``delete(if_version=...)`` is arbitrated by the store; where not, cairn writes
            tombstones.
        per_key_write_interval_s: shortest time between two writes of one key that the store takes without throttling.
        cheap_listing: whether a listing costs about as little as a read (one host), so that polling may be fast.
        poll_hint_s: how often an idle worker should look for work.
        page_size: the most keys that one ``list`` call returns.
    """

    max_key_bytes: int = MAX_KEY_BYTES
    delete_many_size: int = 1000
    conditional_delete: bool = True
    per_key_write_interval_s: float = 0.0
    cheap_listing: bool = False
    poll_hint_s: float = 1.0
    page_size: int = 1000


@runtime_checkable
class ObjectStore(Protocol):
    """A flat map of keys to bodies. Keys are non-empty ASCII paths without empty, ``.`` or ``..`` parts.

    Every method raises a ``StoreError`` (``flowli.cairn.errors``) when the store refuses or cannot be reached and
    nothing was written: ``StoreThrottled`` and ``StoreUnavailable`` may be tried again, the others need the operator.
    """

    @property
    def url(self) -> str:
        """Where it is, without secrets."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""

    async def get(self, key: str) -> Object | None:
        """Read a key; None if absent. One request."""

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key. One request.

        With ``if_absent``: ``Won`` or ``Lost`` (the key exists). With ``if_version``: ``Won``, ``Lost`` (another
        version) or ``Gone`` (no such key; a conditional write never creates). Without a condition: ``Won``. Always
        possible: ``Unknown``.
        """

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key. Absent: ``Gone`` under a condition, else ``Won``."""

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions; absent ones are passed over. For retention only."""

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of the keys that start with ``prefix`` and sort after ``after``, in byte order.

        Args:
            limit: at most so many; never more than ``capabilities.page_size``.
            versions: fill ``Listed.version``. Stores that list versions anyway may fill it always.
        """

    def fork(self) -> ObjectStore:
        """The same store for another thread's event loop, with clients of its own."""

    async def close(self) -> None:
        """Let go of connections and threads. The store cannot be used afterwards."""
