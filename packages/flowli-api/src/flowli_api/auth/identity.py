"""``Identity``: who calls. ``Authenticator``: how the service learns it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from flowli.domain.provenance import Actor, ActorKind
from flowli.timestamp import Timestamp
from flowli_api.auth.capabilities import allows, capabilities

__all__ = ["Authenticator", "Identity"]


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller. Issuer and subject name it; a name or an e-mail address never does.

    Attributes:
        subject: unique within its issuer, and never given to somebody else.
        issuer: who vouches for it; "" for tokens and keys of this service.
        name: for people.
        capabilities: what it may do; see ``CAPABILITIES``.
        workflows: the only workflows whose executions it may see or touch; None for all.
        kind: a person, or a program.
        expires_at: when it is to be asked for again; None for never.
        groups: that it belongs to; reviews may be for the people of a group.

    Raises:
        UsageError: a capability that does not exist.
        ValueError: no subject.
    """

    subject: str
    issuer: str = ""
    name: str = ""
    capabilities: frozenset[str] = field(default_factory=frozenset)
    workflows: frozenset[str] | None = None
    kind: ActorKind = ActorKind.HUMAN
    expires_at: Timestamp | None = None
    groups: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if not self.subject:
            raise ValueError("an identity needs a subject")
        capabilities(self.capabilities)

    @property
    def actor(self) -> Actor:
        """What is recorded of it: ``{issuer}|{subject}``, or the subject alone where this service vouches."""
        return Actor(self.kind, f"{self.issuer}|{self.subject}" if self.issuer else self.subject)

    def may(self, capability: str) -> bool:
        """Whether it holds a capability."""
        return allows(self.capabilities, capability)

    def sees(self, workflow: str) -> bool:
        """Whether executions of a workflow are within its reach."""
        return self.workflows is None or workflow in self.workflows


class Authenticator(Protocol):
    """Turns the token of a request into who calls. One object serves all requests of a process, many at once."""

    async def authenticate(self, token: str) -> Identity | None:
        """Who holds this token; None if it is not valid, for whatever reason. It never says why.

        Args:
            token: of the header ``Authorization: Bearer ...``, without that word.

        Raises:
            BackendUnavailable: it cannot be known now; the caller is told to try again.
        """
