"""``Grant``: what a claim of a token permits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flowli_api.auth.capabilities import capabilities

__all__ = ["Grant", "granted", "texts_of"]


@dataclass(frozen=True, slots=True)
class Grant:
    """Capabilities for those whose token says something.

    Attributes:
        claim: of the token: ``groups``, ``roles``, ``scope``, ``sub``, ``email``. Dots lead into objects.
        value: that the claim must be or hold; the words of a text in ``scope`` count each. "*" fits any value.
        capabilities: what is granted.
        workflows: the only workflows that this grant reaches; None for all.

    Raises:
        UsageError: a capability that does not exist.
    """

    claim: str
    value: str
    capabilities: frozenset[str]
    workflows: frozenset[str] | None = None

    def __post_init__(self) -> None:
        capabilities(self.capabilities)

    def fits(self, claims: Mapping[str, Any], *, trust_email: bool) -> bool:
        """Whether a token has what this asks for.

        Args:
            trust_email: count an address that the issuer has not verified.
        """
        if self.claim == "email" and not trust_email and claims.get("email_verified") is not True:
            return False  # the text "true" is not the truth: only the boolean is
        values = _values(claims, self.claim)
        return bool(values) and (self.value == "*" or any(isinstance(one, str) and one == self.value for one in values))


def texts_of(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    """The texts that a claim is or holds: the groups of a caller, for one."""
    return frozenset(one for one in _values(claims, claim) if isinstance(one, str) and one)


def _values(claims: Mapping[str, Any], claim: str) -> list[Any]:
    found: Any = claims
    for part in claim.split(".") if claim not in claims else (claim,):
        found = found.get(part) if isinstance(found, Mapping) else None
    if found is None or isinstance(found, list):
        return found or []
    return found.split() if claim in ("scope", "scp") and isinstance(found, str) else [found]


def granted(
    grants: Iterable[Grant], claims: Mapping[str, Any], *, trust_email: bool
) -> tuple[frozenset[str], frozenset[str] | None]:
    """All capabilities that a token is granted, and the workflows that they reach.

    A grant for all workflows makes the others reach all as well.
    """
    fitting = [grant for grant in grants if grant.fits(claims, trust_email=trust_email)]
    held = frozenset(one for grant in fitting for one in grant.capabilities)
    if not fitting or any(grant.workflows is None for grant in fitting):
        return held, None
    return held, frozenset(one for grant in fitting for one in grant.workflows or ())
