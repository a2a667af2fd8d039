"""``Agent``: what an adapter does. ``load`` of its ``AgentType`` returns an ``AgentFactory``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from flowli.domain.data import Data
from flowli.world import World
from flowli_runner.contracts import Claim, Cost, Envelope, Outcome
from flowli_runner.process.launch import Limits, ProgramEnd, Record

__all__ = ["Agent", "AgentFactory", "AgentSetup", "Job", "Running", "Said"]


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """One agent of the runner's configuration.

    Attributes:
        name: by which envelopes ask for it.
        kind: name of the adapter.
        argv: program and arguments, with placeholders; or what the adapter adds to its own.
        env: variables that it finds in its environment.
        pass_env: names of variables of the runner's own environment that it finds too.
        url: of a service.
        limits: what it may use.
    """

    name: str
    kind: str = "command"
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    url: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt at a piece of work.

    Attributes:
        attempt: its name.
        folder: of the runner, for what it and the agent write beside the tree.
        tree: where the agent works.
        envelope: what is asked.
        prompt: the same as a text.
        env: all that the agent finds in its environment.
        limits: what it may use.
    """

    attempt: str
    folder: Path
    tree: Path
    envelope: Envelope
    prompt: str
    env: Mapping[str, str]
    limits: Limits

    @property
    def prompt_file(self) -> Path:
        """Holds the prompt."""
        return self.folder / "prompt.md"

    @property
    def report_file(self) -> Path:
        """Where an agent may write what it says of its work."""
        return self.folder / "report.json"


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent says of its work; nothing of it is believed without a check.

    Attributes:
        outcome: None if it says nothing; then the end of the program decides.
        resume: for an agent that goes on.
        session: its name of the conversation.
    """

    outcome: Outcome | None = None
    summary: str = ""
    claims: tuple[Claim, ...] = ()
    resume: str = ""
    session: str = ""
    cost: Cost = field(default_factory=Cost)


class Running(Protocol):
    """Work that is under way. It goes on when the runner ends."""

    async def wait(self, seen: Callable[[], Awaitable[None]] | None = None) -> ProgramEnd:
        """Until it has ended; ``seen`` is called at every look."""

    async def stop(self) -> ProgramEnd:
        """Ask it to end, and go on to force; returns when it has."""

    def output(self) -> bytes:
        """What is known of its output."""


class Agent(Protocol):
    """An adapter for one agent of the configuration."""

    async def start(self, job: Job, record: Record) -> Running:
        """Start the work.

        Args:
            record: is given the handle, by which ``attach`` finds the work, before the work can outlive this process.
        """

    def attach(self, job: Job, handle: Data) -> Running | None:
        """The work that a handle names; None if it cannot be reached from here."""

    def said(self, job: Job, output: bytes) -> Said:
        """What the agent says of its work, when it has ended."""

    def problem(self) -> str | None:
        """What keeps the agent from being started here, as a sentence; None if nothing is known."""


class AgentFactory(Protocol):
    """Makes an adapter from its setup."""

    def __call__(self, setup: AgentSetup, world: World) -> Agent:
        """The adapter.

        Raises:
            UsageError: something of the setup is missing or wrong.
        """
