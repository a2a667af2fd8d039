"""``StaticAuthenticator``: a fixed table of tokens, for one machine, for tests, for a service in a closed network."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from flowli.domain.errors import UsageError
from flowli_api.auth.identity import Identity
from flowli_api.auth.settings import identity_of

__all__ = ["StaticAuthenticator"]

_LEAST = 16


class StaticAuthenticator:
    """Tokens that are known when the process starts. It keeps their digests only.

    Args:
        tokens: each token with who holds it.

    Raises:
        UsageError: a token that could be guessed: shorter than 16 characters.

    Example:
        >>> StaticAuthenticator({"a-long-random-token": Identity("ada", capabilities=frozenset({"admin"}))})
    """

    def __init__(self, tokens: Mapping[str, Identity]) -> None:
        for token, identity in tokens.items():
            if len(token) < _LEAST:
                raise UsageError(f"the token of '{identity.subject}' is too short; use at least {_LEAST} characters")
        self._known = {_digest(token): identity for token, identity in tokens.items()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> StaticAuthenticator:
        """From a table ``tokens`` with ``token``, ``subject``, ``capabilities``, ``workflows``, ...

        Raises:
            UsageError: a row lacks something.
        """
        rows = settings.get("tokens")
        if not isinstance(rows, list) or not rows:
            raise UsageError("the settings hold no 'tokens'; write a table with token, subject and capabilities")
        for row in rows:
            if not isinstance(row, Mapping) or not isinstance(row.get("token"), str):
                raise UsageError("a row of 'tokens' needs the text token")
        return cls({row["token"]: identity_of(row) for row in rows})

    async def authenticate(self, token: str) -> Identity | None:
        digest = _digest(token)
        found = None
        for known, identity in self._known.items():
            if hmac.compare_digest(known, digest):  # all are compared: the time taken tells nothing
                found = identity
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
