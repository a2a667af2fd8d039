"""An identity provider in this process: keys, tokens, and the two documents that services fetch."""

from __future__ import annotations

import functools
from typing import Any

import httpx
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from flowli.testing.clock import ManualWorld

ISSUER = "https://login.example.org/tenant"
AUDIENCE = "https://flowli.example.org"


@functools.cache
def new_key(kid: str, **options: str) -> RSAKey:
    """A key; making one takes long, so that tests share those of one id."""
    return RSAKey.generate_key(2048, {"kid": kid, **options})


class Issuer:
    """Signs tokens; counts how often its keys are asked for."""

    def __init__(self, world: ManualWorld, issuer: str = ISSUER) -> None:
        self.world = world
        self.issuer = issuer
        self.keys = [new_key("rsa-1", use="sig")]
        self.fetches = 0
        self.broken = False
        self.answer: bytes | None = None

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._serve))

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(self.world.now().seconds)
        claims = {"iss": self.issuer, "aud": AUDIENCE, "sub": "ada", "exp": now + 600, "iat": now, "groups": ["ops"]}
        return {name: value for name, value in {**claims, **changed}.items() if value is not ...}

    def token(self, key: RSAKey | ECKey | None = None, header: dict[str, Any] | None = None, **changed: Any) -> str:
        key = key or self.keys[0]
        given = {"alg": "RS256", "kid": "rsa-1", **(header or {})}
        return jwt.encode(given, self.claims(**changed), key, algorithms=[given["alg"]])

    def _serve(self, request: httpx.Request) -> httpx.Response:
        self.fetches += 1
        if self.broken:
            return httpx.Response(503)
        if request.url.path.endswith("openid-configuration"):
            return httpx.Response(200, json={"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"})
        if self.answer is not None:
            return httpx.Response(200, content=self.answer)
        return httpx.Response(200, json={"keys": [key.as_dict(private=False) for key in self.keys]})
