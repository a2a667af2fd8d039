"""``Report``: the answer of the runner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flowli_runner.contracts.envelope import VERSION
from flowli_runner.contracts.shape import ContractError

__all__ = ["Change", "CheckResult", "Claim", "Cost", "EvidenceRef", "Outcome", "Report", "ResumeArtifact"]


class Outcome(StrEnum):
    """How the work ended."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    BLOCKED = "blocked"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """A body that was kept beside the execution.

    Attributes:
        name: under which the ``Evidence`` port has it.
        media_type: of the body.
        size_bytes: before anything was cut.
        cut: the middle is missing, because it was larger than the limit.
    """

    name: str
    media_type: str = "text/plain"
    size_bytes: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the agent says it has done; the evidence is for whoever doubts it."""

    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs from the base.

    Attributes:
        status: of git: ``A``, ``M``, ``D``, ``T``.
        path: from the root of the repository.
    """

    status: str
    path: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found.

    Attributes:
        exit_code: None if it was ended, or could not be started.
        passed: it ended by itself, with 0.
        evidence: name of its output.
    """

    name: str
    argv: tuple[str, ...]
    passed: bool
    exit_code: int | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the work has cost, as far as the agent tells."""

    duration_s: float = 0.0
    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class ResumeArtifact:
    """What a fresh agent needs to go on.

    Attributes:
        summary: the agent's own words.
        session: its name for the conversation, where it can be taken up again.
        ref: the git ref that holds every byte of the tree as it was left; an envelope may begin from it.
    """

    summary: str = ""
    session: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What has become of an envelope.

    Attributes:
        outcome: how it ended.
        summary: one paragraph for people.
        claims: what the agent says.
        changes: what differs from ``base``.
        outside: changed paths that lie outside the write scopes; then the outcome is never ``completed``.
        checks: what the verification commands found.
        evidence: what was kept.
        cost: of the work.
        resume: for an agent that goes on.
        base: the commit that the work began from.
        branch: of the attempt.
        head: the last commit of the branch.
        attempt: names the attempt.
        version: of this contract.
    """

    outcome: Outcome
    summary: str = ""
    claims: tuple[Claim, ...] = ()
    changes: tuple[Change, ...] = ()
    outside: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()
    cost: Cost = Cost()
    resume: ResumeArtifact = ResumeArtifact()
    base: str = ""
    branch: str = ""
    head: str = ""
    attempt: str = ""
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ContractError("version", f"version {self.version} is not known; this release reads version {VERSION}")
        if self.outcome is Outcome.COMPLETED and (self.outside or not all(one.passed for one in self.checks)):
            raise ContractError("outcome", "work with a failed check, or outside its scopes, is not completed")
