"""``KeySource``: the public keys of an identity provider, fetched seldom and within bounds.

A key that is not known leads to one fetch at most in ``pause_s``, however many tokens name strange keys. Keys that were
fetched count until a later fetch succeeds, so that a provider that is away for a while locks nobody out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx
import orjson
import structlog
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from flowli.domain.errors import BackendUnavailable
from flowli.world import World

__all__ = ["FITS", "KeySource", "PublicKey"]

PublicKey: TypeAlias = RSAKey | ECKey | OKPKey

_log = structlog.get_logger("flowli.api.auth")
_LARGEST = 262_144
_MOST_KEYS = 100

FITS: Mapping[str, tuple[type[PublicKey], str | None]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), (RSAKey, None)),
    "ES256": (ECKey, "P-256"),
    "ES384": (ECKey, "P-384"),
    "ES512": (ECKey, "P-521"),
    "EdDSA": (OKPKey, None),
    "Ed25519": (OKPKey, "Ed25519"),
}
"""The algorithms that may be configured, each with the kind of key, and the curve, that it needs. None is symmetric."""


class KeySource:
    """See the module's docstring.

    Args:
        issuer: its discovery document names the keys, unless ``jwks_uri`` does.
        client: fetches; it follows no redirects.
        world: clock.
        refresh_s: how long keys are used before they are fetched again.
        pause_s: least time between two fetches.
        timeout_s: for one fetch.
    """

    def __init__(
        self,
        issuer: str,
        jwks_uri: str | None,
        client: httpx.AsyncClient,
        world: World,
        *,
        refresh_s: float = 3600.0,
        pause_s: float = 30.0,
        timeout_s: float = 5.0,
    ) -> None:
        self._issuer = issuer
        self._uri = jwks_uri
        self._client = client
        self._world = world
        self._refresh_s, self._pause_s, self._timeout_s = refresh_s, pause_s, timeout_s
        self._keys: list[PublicKey] | None = None
        self._fetched_s = self._tried_s = float("-inf")
        self._turn = asyncio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """The key that a token names, if it is of the kind that the algorithm needs.

        Args:
            kid: of the token's header; None fits if there is one key only.
            algorithm: one of ``FITS``; a key that says another one for itself does not fit.

        Raises:
            BackendUnavailable: no keys could be fetched so far.
        """
        if self._keys is None or self._world.monotonic_s() - self._fetched_s >= self._refresh_s:
            await self._fetch()
        found = self._known(kid, algorithm)
        if found is None and kid is not None and not any(key.kid == kid for key in self._keys or ()):
            await self._fetch()
            found = self._known(kid, algorithm)
        if self._keys is None:
            raise BackendUnavailable(f"the keys of {self._issuer} cannot be fetched now")
        return found

    def _known(self, kid: str | None, algorithm: str) -> PublicKey | None:
        kind, curve = FITS[algorithm]
        fitting = [
            key
            for key in self._keys or ()
            if isinstance(key, kind)
            and key.get("use") in (None, "sig")
            and key.get("alg") in (None, algorithm)
            and (curve is None or key.get("crv") == curve)
            and (kid is None or key.kid == kid)
        ]
        return fitting[0] if len(fitting) == 1 else None

    async def _fetch(self) -> None:
        async with self._turn:
            now_s = self._world.monotonic_s()
            if now_s - self._tried_s < self._pause_s:
                return
            self._tried_s = now_s
            try:
                if self._uri is None:
                    self._uri = await self._discover()
                self._keys = _public(await self._get(self._uri))
                self._fetched_s = now_s
            except (httpx.HTTPError, ValueError, TimeoutError) as error:
                _log.warning("keys cannot be fetched", issuer=self._issuer, error_type=type(error).__name__)

    async def _discover(self) -> str:
        found = await self._get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        uri = found.get("jwks_uri")
        if found.get("issuer") != self._issuer or not isinstance(uri, str):
            raise ValueError("the discovery document is of another issuer")
        return uri

    async def _get(self, url: str) -> dict[str, Any]:
        body = b""
        async with (
            asyncio.timeout(self._timeout_s),
            self._client.stream("GET", url, follow_redirects=False, headers={"accept": "application/json"}) as response,
        ):
            if response.status_code != 200:
                raise ValueError(f"answered {response.status_code}")
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    raise ValueError("the answer is too long")
        found = orjson.loads(body)
        if not isinstance(found, dict):
            raise ValueError("the answer is no object")
        return found


def _public(document: dict[str, Any]) -> list[PublicKey]:
    """The asymmetric keys of a document; what cannot be read is left out."""
    rows = document.get("keys")
    if not isinstance(rows, list):
        raise ValueError("the answer holds no keys")
    found: list[PublicKey] = []
    for row in rows[:_MOST_KEYS]:
        try:
            keys = KeySet.import_key_set({"keys": [row]}).keys
        except Exception:  # of a kind that is not known here, or broken: nobody can use it
            continue
        found += [key for key in keys if isinstance(key, RSAKey | ECKey | OKPKey)]
    return found
