"""Carries the blocking calls of an SDK into threads, as many as there are connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Generic, TypeVar

from flowli.cairn.errors import StoreError, StoreUnavailable
from flowli.cairn.remote.dialect import Call, Config, Contact, Dialect, Result
from flowli.cairn.write import Gone, Lost, Won
from flowli.world import World

__all__ = ["Calls"]

T = TypeVar("T")
C = TypeVar("C")
S = TypeVar("S", bound=Config)

_WRITES = frozenset({"put", "delete"})


class Calls(Generic[S, C]):
    """One client and its threads; both are made at the first call.

    Args:
        dialect: of the SDK.
        config: of the store.
        world: makes the threads.
        contact: of the store and its forks.
    """

    def __init__(self, dialect: Dialect[S, C], config: S, world: World, contact: Contact) -> None:
        self.contact = contact
        self._dialect = dialect
        self._config = config
        self._world = world
        self._pool: Executor | None = None
        self._client: C | None = None
        self._making = threading.Lock()
        self._running: dict[Future[Any], str] = {}
        self._closed = False

    async def read(self, verb: str, work: Callable[[C], T]) -> T:
        """Do ``work``, which changes nothing or may be repeated.

        Raises:
            StoreError: it failed.
        """
        try:
            # Looking for credentials, a host or a name may take long; who has just started should hear of it.
            async with asyncio.timeout(None if self.contact.reached else self._config.first_timeout_s):
                return await self._carry(verb, work)
        except StoreError:
            raise
        except Exception as error:
            raise self._dialect.refusal(error, self._call(verb)) from error

    async def write(self, verb: str, work: Callable[[C], Won | Lost | Gone]) -> Result:
        """Do ``work``, one write, and tell what it came to.

        Raises:
            StoreError: it was refused, and nothing was written.
        """
        try:
            return await self._carry(verb, work)
        except StoreError:
            raise
        except Exception as error:
            return self._dialect.fate(error, self._call(verb))

    async def close(self) -> None:
        """Let calls under way come to their end, then let go of threads and connections."""
        self._closed = True
        # A service that has never answered holds nobody up; only a write may still come to something.
        wanted = [one for one, verb in tuple(self._running.items()) if self.contact.reached or verb in _WRITES]
        await asyncio.gather(*map(asyncio.wrap_future, wanted), return_exceptions=True)
        pool, self._pool = self._pool, None
        client, self._client = self._client, None
        if pool is not None:
            pool.shutdown(wait=False)
        if client is not None:
            self._dialect.disconnect(client)

    async def _carry(self, verb: str, work: Callable[[C], T]) -> T:
        if self._closed:
            raise StoreUnavailable(f"The store {self._config.url} is closed", "Open it again")
        if self._pool is None:
            self._pool = self._world.pool(self._dialect.name, self._config.connections)
        future = self._pool.submit(self._block, verb, work)
        self._running[future] = verb  # also while nobody waits any more: the SDK cannot be interrupted
        future.add_done_callback(lambda done: self._running.pop(done, None))
        return await asyncio.wrap_future(future)

    def _block(self, verb: str, work: Callable[[C], T]) -> T:
        client = self._made(verb, None)
        try:
            done = work(client)
        except Exception as error:
            self.contact.reached |= self._dialect.answered(error)
            self.contact.tries += 1
            if not self._dialect.expired(error):
                raise
            # Refused before anything was done. Whoever renews credentials on disk does not tell this process.
            done = work(self._made(verb, client))
        self.contact.reached = True
        return done

    def _made(self, verb: str, stale: C | None) -> C:
        with self._making:
            if self._client is None or self._client is stale:
                try:
                    self._client = self._dialect.connect(self._config)
                except StoreError:
                    raise
                except Exception as error:
                    raise self._dialect.unusable(error, self._call(verb)) from error
            return self._client

    def _call(self, verb: str) -> Call:
        return Call(verb, self._config, self.contact.reached, self.contact.tries)
