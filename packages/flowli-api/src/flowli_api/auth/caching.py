"""``CachingAuthenticator``: asks another one once for each token, for a while."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from flowli.world import SYSTEM, World
from flowli_api.auth.identity import Authenticator, Identity

__all__ = ["CachingAuthenticator"]


@dataclass(frozen=True, slots=True)
class _Known:
    identity: Identity | None
    until_s: float


class CachingAuthenticator:
    """Remembers what an authenticator said, by the digest of the token: no token is kept.

    A token that is revoked is believed for ``ttl_s`` longer. One that expires is never believed longer than that. An
    error of the authenticator is not remembered.

    Args:
        inner: the authenticator.
        ttl_s: how long an answer counts, in seconds.
        refused_ttl_s: how long a refusal counts; shorter, so that a new token works soon.
        size: how many answers are kept.
        world: the clock.
    """

    def __init__(
        self,
        inner: Authenticator,
        *,
        ttl_s: float = 60.0,
        refused_ttl_s: float = 5.0,
        size: int = 10_000,
        world: World = SYSTEM,
    ) -> None:
        self._inner = inner
        self._ttl_s = ttl_s
        self._refused_ttl_s = refused_ttl_s
        self._size = size
        self._world = world
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._asking: dict[bytes, asyncio.Task[Identity | None]] = {}

    async def authenticate(self, token: str) -> Identity | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._known.get(digest)
        if known is not None and self._world.monotonic_s() < known.until_s and not self._over(known.identity):
            self._known.move_to_end(digest)
            return known.identity
        asking = self._asking.get(digest)
        if asking is None:  # many requests with one new token ask once
            asking = self._asking[digest] = asyncio.ensure_future(self._ask(digest, token))
            asking.add_done_callback(lambda _: self._asking.pop(digest, None))
        return await asyncio.shield(asking)

    async def _ask(self, digest: bytes, token: str) -> Identity | None:
        identity = await self._inner.authenticate(token)
        ttl_s = self._refused_ttl_s if identity is None else self._ttl_s
        self._known[digest] = _Known(identity, self._world.monotonic_s() + ttl_s)
        self._known.move_to_end(digest)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return identity

    def _over(self, identity: Identity | None) -> bool:
        expires = None if identity is None else identity.expires_at
        return expires is not None and expires <= self._world.now()
