"""What a store behind an SDK tells of itself: how its client is made, and what its errors and calls mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from flowli.cairn.errors import StoreError
from flowli.cairn.remote.bucket import Look
from flowli.cairn.store import Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won

__all__ = ["Call", "Config", "Contact", "Dialect", "Fate", "Requests", "Result"]

Result: TypeAlias = Won | Lost | Gone | Unknown
Fate: TypeAlias = Lost | Gone | Unknown


class Config(Protocol):
    """What every such store is told."""

    @property
    def url(self) -> str:
        """The URL that opens the same place, without secrets."""

    @property
    def where(self) -> str:
        """The service and the place in words."""

    @property
    def connections(self) -> int:
        """The most requests at once; as many threads and connections are kept."""

    @property
    def first_timeout_s(self) -> float:
        """Seconds in which the service must have answered for the first time, looking for credentials included."""


C = TypeVar("C")
S = TypeVar("S", bound=Config)
Client = TypeVar("Client", contravariant=True)


@dataclass(slots=True)
class Contact:
    """Shared by a store and its forks.

    Attributes:
        reached: the service has answered at least once.
        tries: how many requests have failed before it did.
    """

    reached: bool = False
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """Which request failed.

    Attributes:
        verb: ``get``, ``put``, ``delete``, ``delete_many``, ``list`` or ``look at settings``.
        config: of the store.
        reached: whether the service has ever answered.
        tries: how many requests have failed, if it has not.
    """

    verb: str
    config: Config
    reached: bool = True
    tries: int = 0

    @property
    def where(self) -> str:
        """The service and the place in words."""
        return self.config.where


@dataclass(frozen=True, slots=True)
class Dialect(Generic[S, C]):
    """How to speak to one SDK. None of the functions is called before the first request.

    Attributes:
        name: of the threads: ``flowli-s3``.
        connect: makes a client that many threads may use; it looks for credentials anew.
        disconnect: lets go of its connections.
        answered: whether an error is an answer of the service.
        expired: whether an error says that credentials ran out, so that a new client may find newer ones.
        fate: what a write came to that ended with an error; raises ``StoreError`` if it was refused.
        refusal: the error of the cairn that says the same as one of the SDK.
        unusable: the error of the cairn for settings with which no client can be made.
    """

    name: str
    connect: Callable[[S], C]
    disconnect: Callable[[C], None]
    answered: Callable[[Exception], bool]
    expired: Callable[[Exception], bool]
    fate: Callable[[Exception, Call], Fate]
    refusal: Callable[[Exception, Call], StoreError]
    unusable: Callable[[Exception, Call], StoreError]


class Requests(Protocol[Client]):
    """The requests of one store, each a blocking call in a thread. Errors of the SDK come out as they are."""

    def get(self, client: Client, key: str) -> Object | None:
        """Read a key; None if the service says that it is absent."""

    def put(self, client: Client, key: str, data: bytes, if_absent: bool, if_version: str | None) -> Won | Lost | Gone:
        """Write a key, once."""

    def delete(self, client: Client, key: str, if_version: str | None) -> Won | Lost | Gone:
        """Delete a key, once."""

    def delete_many(self, client: Client, keys: Sequence[str]) -> None:
        """Delete the keys of one batch."""

    def list(self, client: Client, prefix: str, after: str | None, size: int) -> Page:
        """One page of keys with their versions and ages."""

    def looks(self) -> Sequence[Look[Client]]:
        """The requests that tell the settings of the bucket."""
