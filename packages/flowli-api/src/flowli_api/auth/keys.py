"""``ApiKeyAuthenticator``: keys for programs, stored hashed.

A key is ``fk_{id}_{secret}``: the id finds the row, 256 random bits are the secret. Random secrets need no slow hash:
SHA-256 with a salt is as good, and costs an attacker the same 2**256.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowli.domain.errors import UsageError
from flowli.domain.provenance import ActorKind
from flowli.world import World
from flowli_api.auth.identity import Identity
from flowli_api.auth.settings import identity_of

__all__ = ["ApiKey", "ApiKeyAuthenticator", "draw"]

_KEY = re.compile(r"fk_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)
_NOBODY = hashlib.sha256(b"nobody").hexdigest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored.

    Attributes:
        id: the part of the key that is no secret.
        salt: random text.
        digest: SHA-256 of salt and secret, in hexadecimal.
        identity: who holds it.
    """

    id: str
    salt: str
    digest: str
    identity: Identity


class ApiKeyAuthenticator:
    """Knows keys by their hashes.

    Args:
        keys: all that are valid; leave one out to revoke it.
    """

    def __init__(self, keys: Sequence[ApiKey]) -> None:
        self._keys = {key.id: key for key in keys}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> ApiKeyAuthenticator:
        """From a table ``keys`` with ``id``, ``salt``, ``digest``, ``subject``, ``capabilities``, ...

        Raises:
            UsageError: a row lacks something.
        """
        rows = settings.get("keys")
        if not isinstance(rows, list) or not rows:
            raise UsageError("the settings of API keys hold no 'keys'; make one with flowli api new-key")
        return cls([_row(row) for row in rows])

    async def authenticate(self, token: str) -> Identity | None:
        found = _KEY.fullmatch(token)
        if found is None:
            return None
        key = self._keys.get(found[1])
        salt, wanted = (key.salt, key.digest) if key is not None else ("", _NOBODY)
        # compared for an unknown id too: the time taken tells nothing
        fits = hmac.compare_digest(_digest(salt, found[2]), wanted)
        return key.identity if fits and key is not None else None


def draw(world: World, subject: str) -> tuple[str, dict[str, Any]]:
    """A fresh key, and its row without capabilities."""
    identity, salt = world.token()[:16], world.token()
    secret = world.token() + world.token()
    row = {"id": identity, "salt": salt, "digest": _digest(salt, secret), "subject": subject, "kind": "system"}
    return f"fk_{identity}_{secret}", row


def _digest(salt: str, secret: str) -> str:
    return hashlib.sha256(f"{salt}:{secret}".encode()).hexdigest()


def _row(row: object) -> ApiKey:
    if not isinstance(row, Mapping) or not all(isinstance(row.get(name), str) for name in ("id", "salt", "digest")):
        raise UsageError("a row of 'keys' needs the texts id, salt and digest")
    identity = identity_of(row, default=ActorKind.SYSTEM)
    return ApiKey(str(row["id"]), str(row["salt"]), str(row["digest"]), identity)
