"""``OIDCAuthenticator``: access tokens (JWT) of an OpenID Connect provider.

What is trusted is fixed in the configuration, never taken from a token: the issuer, the audience, the algorithms.
A caller is issuer and subject; an e-mail address is a claim like others, and counts only once the issuer verified it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from math import nan
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from joserfc import jwt
from joserfc.util import urlsafe_b64decode

from flowli.domain.errors import UsageError
from flowli.domain.provenance import ActorKind
from flowli.timestamp import Timestamp
from flowli.world import SYSTEM, World
from flowli_api.auth.grants import Grant, granted, texts_of
from flowli_api.auth.identity import Identity
from flowli_api.auth.jwks import FITS, KeySource
from flowli_api.auth.settings import names

__all__ = ["OIDCAuthenticator"]

_LONGEST = 16_384
_LONGEST_SUBJECT = 512
_TYPES = (None, "JWT", "at+jwt", "application/at+jwt")
_OF_ID_TOKENS = ("nonce", "at_hash", "c_hash")
_LATEST_S = 253_402_300_799


class OIDCAuthenticator:
    """Checks signature, issuer, audience and times of access tokens. ID tokens are refused.

    Put a ``CachingAuthenticator`` in front of it.

    Args:
        issuer: exactly as tokens name it, a slash at the end included. HTTPS, except on this machine.
        audience: of this service; a token must name it, alone or among others.
        grants: what claims permit; a token that fits none is known, and may do nothing.
        algorithms: that are accepted; asymmetric ones.
        leeway_s: by how much the clocks of issuer and service may differ.
        jwks_uri: where the keys are; found by discovery if None.
        groups_claim: of the groups of a caller, for whom reviews may be; dots lead into objects.
        trust_unverified_email: let grants by ``email`` count without ``email_verified``; for an issuer that lets nobody
            set that address.
        client: fetches keys; one of its own if None.
        world: clock.

    Raises:
        UsageError: a setting that would not be safe.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        *,
        grants: Sequence[Grant],
        algorithms: Sequence[str] = ("RS256",),
        leeway_s: float = 30.0,
        jwks_uri: str | None = None,
        groups_claim: str = "groups",
        trust_unverified_email: bool = False,
        client: httpx.AsyncClient | None = None,
        world: World = SYSTEM,
    ) -> None:
        for url in (issuer, *([] if jwks_uri is None else [jwks_uri])):
            _check_url(url)
        if not audience:
            raise UsageError("audience is empty; a token for any other service would do")
        wrong = sorted(set(algorithms) - FITS.keys())
        if wrong or not algorithms:
            raise UsageError(f"algorithms holds {wrong or 'nothing'}; use any of {', '.join(FITS)}")
        if not 0 <= leeway_s <= 300:
            raise UsageError(f"leeway_s is {leeway_s}; use at most 300 seconds")
        self._issuer, self._audience = issuer, audience
        self._grants = tuple(grants)
        self._algorithms = frozenset(algorithms)
        self._leeway_s = leeway_s
        self._groups_claim = groups_claim
        self._trust_email = trust_unverified_email
        self._world = world
        self._keys = KeySource(issuer, jwks_uri, client or httpx.AsyncClient(), world)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> OIDCAuthenticator:
        """From ``issuer``, ``audience`` and a table ``grants``; the other arguments under their names.

        Raises:
            UsageError: something is missing, unknown or has the wrong form.
        """
        known = {
            "issuer",
            "audience",
            "grants",
            "algorithms",
            "leeway_s",
            "jwks_uri",
            "groups_claim",
            "trust_unverified_email",
        }
        unknown = sorted(settings.keys() - known)
        if unknown:
            raise UsageError(f"the settings of oidc have no {unknown[0]!r}; they take {', '.join(sorted(known))}")
        if not all(isinstance(settings.get(name), str) for name in ("issuer", "audience")):
            raise UsageError("the settings of oidc need the texts issuer and audience")
        options = {name: value for name, value in settings.items() if name not in ("issuer", "audience", "grants")}
        grants = [_grant(row) for row in settings.get("grants", ())]
        return cls(settings["issuer"], settings["audience"], grants=grants, **options)

    async def authenticate(self, token: str) -> Identity | None:
        claims = await self._claims(token) if len(token) <= _LONGEST else None
        if claims is None:
            return None
        held, workflows = granted(self._grants, claims, trust_email=self._trust_email)
        name = claims.get("name") or claims.get("preferred_username")
        expires = Timestamp.from_seconds(min(claims["exp"] + self._leeway_s, _LATEST_S))
        return Identity(
            claims["sub"],
            self._issuer,
            name if isinstance(name, str) else "",
            held,
            workflows,
            ActorKind.HUMAN,
            expires,
            texts_of(claims, self._groups_claim),
        )

    async def _claims(self, token: str) -> dict[str, Any] | None:
        """The claims of a token whose signature is right; None for any other."""
        header = _header(token)
        algorithm = header.get("alg")
        if algorithm not in self._algorithms or header.get("typ") not in _TYPES:
            return None
        kid = header.get("kid")
        key = await self._keys.find(kid if isinstance(kid, str) else None, algorithm)
        if key is None:
            return None
        try:
            claims = jwt.decode(token, key, algorithms=[algorithm]).claims
        except Exception:  # whatever a hostile token makes of the library, it is not valid
            return None
        return claims if self._fits(claims) else None

    def _fits(self, claims: Mapping[str, Any]) -> bool:
        now_s = self._world.now().seconds
        audience = claims.get("aud")
        named = audience if isinstance(audience, list) else [audience]
        expires, begins = claims.get("exp"), claims.get("nbf", 0)
        return (
            claims.get("iss") == self._issuer
            and self._audience in named
            and isinstance(claims.get("sub"), str)
            and 0 < len(claims["sub"]) <= _LONGEST_SUBJECT
            and _number(expires) > now_s - self._leeway_s
            and _number(begins) <= now_s + self._leeway_s
            and not any(name in claims for name in _OF_ID_TOKENS)
        )


def _header(token: str) -> dict[str, Any]:
    try:
        found = orjson.loads(urlsafe_b64decode(token.partition(".")[0].encode("ascii")))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float:
    """An instant of a token; not a number (which is neither before nor after anything) for anything else."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if fits and isinstance(value, int | float) else nan


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    try:
        here = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        here = parts.hostname == "localhost"
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and here)):
        raise UsageError(f"{url!r} cannot be trusted; use an https URL")


def _grant(row: object) -> Grant:
    if not isinstance(row, Mapping) or not all(isinstance(row.get(name), str) for name in ("claim", "value")):
        raise UsageError("a row of 'grants' needs the texts claim and value, and a list of capabilities")
    workflows = row.get("workflows")
    return Grant(
        row["claim"],
        row["value"],
        frozenset(names("capabilities", row.get("capabilities"))),
        None if workflows is None else frozenset(names("workflows", workflows)),
    )
