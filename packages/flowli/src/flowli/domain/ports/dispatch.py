"""``Dispatch``: an idempotent start, and any other decision that is taken exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flowli.domain.data import Data
from flowli.domain.execution import DEFAULT_PRIORITY
from flowli.domain.ids import Eid
from flowli.domain.provenance import Provenance
from flowli.timestamp import Timestamp

__all__ = ["Claim", "Dispatch", "StandingClaim", "StartClaim"]


@dataclass(frozen=True, slots=True)
class Claim:
    """The decision that stands: ``value`` is the winner's; ``won`` tells whether it was this call's."""

    value: Data
    won: bool


@dataclass(frozen=True, slots=True)
class StandingClaim:
    """A decision as it was found. ``token`` is opaque: it names this very decision to the backend."""

    key: str
    value: Data
    token: str


@dataclass(frozen=True, slots=True)
class StartClaim:
    """Which execution a dispatch key leads to. Every finisher of one start writes the same of it.

    Attributes:
        generation: from 1; rises each time the key is used again.
        digest: of the arguments.
        request: id of the call that asked.
        timeout_s: execution timeout in seconds; None for none.
        folded_at: set by retention when the execution is archived.
        token: opaque; names this state of the claim to the backend.
        more: fields that a newer release wrote; they are kept when the claim is written anew.
    """

    key: str
    generation: int
    eid: Eid
    workflow: str
    version: str
    digest: str
    created_by: Provenance
    request: str
    queue: str = "default"
    priority: int = DEFAULT_PRIORITY
    timeout_s: float | None = None
    folded_at: Timestamp | None = None
    token: str = ""
    more: dict[str, Data] | None = None

    @property
    def created_at(self) -> Timestamp:
        """When the start was asked for."""
        return self.created_by.at


class Dispatch(Protocol):
    """Put-if-absent with read-back. Of any number of claims of one key exactly one wins, and all learn its value."""

    async def claim(self, key: str, value: Data) -> Claim:
        """Decide ``key`` once, until it is forgotten."""

    async def claims(self, prefix: str, *, after: str = "", limit: int = 1000) -> Sequence[StandingClaim]:
        """The first decisions whose keys begin with ``prefix`` and come after ``after``, in the order of the keys;
        fewer than ``limit`` if that is cheaper, none only if there are no more. Those of starts are not among them.
        """

    async def forget_claim(self, found: StandingClaim) -> bool:
        """Remove a decision that has had its time, if it is still ``found``; False if it was not there."""

    async def claim_start(self, claim: StartClaim) -> StartClaim:
        """Claim ``claim.key`` for ``claim``; returns what stands (equal but for the token if it was won)."""

    async def read_start(self, key: str) -> StartClaim | None:
        """What stands under ``key``."""

    async def replace_start(self, found: StartClaim, claim: StartClaim) -> StartClaim:
        """Put ``claim`` (generation + 1, or the same one marked folded) in the place of ``found``; returns what
        stands then.
        """

    async def forget_start(self, found: StartClaim) -> None:
        """Remove an expired claim if it is still ``found``."""
