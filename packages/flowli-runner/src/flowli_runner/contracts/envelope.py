"""``Envelope``: the payload of a delegate that asks for the work of an agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowli_runner.contracts.shape import ContractError

__all__ = ["VERSION", "AgentSettings", "Check", "Envelope", "Knowledge"]

VERSION = 1
"""Of both contracts; a runner refuses one that it does not know."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A text or a link that is given to the agent.

    Attributes:
        title: one line.
        text: what it says.
        link: where more is found.
    """

    title: str
    text: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A command that is run in the tree when the agent has ended; what it finds goes into the report.

    Attributes:
        name: in the report.
        argv: program and arguments; no shell reads them.
        timeout_s: after so long it counts as failed.
    """

    name: str
    argv: tuple[str, ...]
    timeout_s: float = 600.0

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ContractError("argv", "the program is missing; write for example ['pytest', '-q']")
        if self.timeout_s <= 0:
            raise ContractError("timeout_s", "more than 0 seconds are needed")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What this piece of work asks of its agent; the runner's configuration decides what is possible.

    Attributes:
        name: the agent of the runner's configuration; its default one if empty.
        model: for agents that offer several.
        timeout_s: for the whole work; the configuration's if None, and never more than that.
        options: further placeholders of the agent's command.
    """

    name: str = ""
    model: str = ""
    timeout_s: float | None = None
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model.startswith("-"):
            raise ContractError("model", f"{self.model!r} could be read as an option; no model is named so")
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise ContractError("timeout_s", "more than 0 seconds are needed")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is to be done.

    Attributes:
        intent: the wish, in the words that the agent reads.
        acceptance: the criteria by which the work is accepted.
        write_scopes: globs of the paths that may change (``src/**``); nothing may if there are none.
        checks: commands that are run afterwards.
        knowledge: what the agent should know.
        base_ref: branch, tag or commit to begin from; the runner's default if empty.
        agent: which agent, and how.
        findings: what was wrong with an earlier attempt.
        resume: what an earlier agent left for the one that goes on: its own summary.
        version: of this contract.
    """

    intent: str
    acceptance: tuple[str, ...] = ()
    write_scopes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    base_ref: str = ""
    agent: AgentSettings = field(default_factory=AgentSettings)
    findings: tuple[str, ...] = ()
    resume: str = ""
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ContractError("version", f"version {self.version} is not known; this runner reads version {VERSION}")
        if not self.intent.strip():
            raise ContractError("intent", "it is empty; say what is to be done")
        for at, scope in enumerate(self.write_scopes):
            _check_scope(f"write_scopes[{at}]", scope)


def _check_scope(path: str, scope: str) -> None:
    parts = scope.split("/")
    if not scope or scope.startswith(("/", "-", ":", "!")) or ".." in parts or "" in parts:
        raise ContractError(path, f"{scope!r} is no glob of paths inside the repository; write for example 'src/**'")
    if any(ord(char) < 32 or ord(char) == 127 or char == "\\" for char in scope):
        raise ContractError(path, f"{scope!r} holds a control character or a backslash")
