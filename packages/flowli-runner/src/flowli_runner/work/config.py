"""The configuration of a runner: one TOML file, read as strictly as the contracts."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from flowli.domain.errors import UsageError
from flowli_runner.agents import AgentSetup
from flowli_runner.contracts.shape import ContractError, from_data
from flowli_runner.process.launch import Limits

__all__ = ["AgentTable", "RunnerConfig", "base_environment", "read_config"]

_PLAIN = ("PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL")


@dataclass(frozen=True, slots=True)
class AgentTable:
    """One table ``[agents.NAME]``; see ``AgentSetup`` and ``Limits``."""

    kind: str = "command"
    argv: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    url: str = ""
    timeout_s: float = 3600.0
    grace_s: float = 10.0
    max_output: int = 8_388_608
    stop_output: int = 1_073_741_824
    orphan_s: float = 900.0

    def setup(self, name: str) -> AgentSetup:
        """What the adapter is given."""
        limits = Limits(self.timeout_s, self.grace_s, self.max_output, self.stop_output, self.orphan_s)
        return AgentSetup(name, self.kind, self.argv, self.env, self.pass_env, self.url, limits)


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """What a runner works with.

    Attributes:
        storage: URL of the bucket.
        queue: where tasks are taken from.
        worker_id: names this runner; it stays the same over restarts. The host's name if empty.
        parallel: tasks worked on at once.
        ttl_s: a runner that has not renewed a task for so long is taken for dead.
        drain_s: how long a runner that is asked to end waits for work; then it leaves the agents to the next one.
        repository: any folder of the git repository in which agents work; without one they get an empty folder.
        work_dir: where trees and transcripts are made.
        default_base: what an envelope without ``base_ref`` begins from.
        default_agent: what an envelope without ``agent.name`` is given to; the only one if there is one.
        keep_ignored: files that git ignores are kept too when a tree is put away.
        max_attempts: how often work is begun anew that was interrupted.
        max_evidence: bytes of one body of evidence.
        secrets: names of variables of the runner's environment whose values are masked wherever they appear.
        agents: by name.
    """

    storage: str = ""
    queue: str = "agents"
    worker_id: str = ""
    parallel: int = 1
    ttl_s: float = 30.0
    drain_s: float = 30.0
    repository: str = ""
    work_dir: str = ".flowli-runner"
    default_base: str = "HEAD"
    default_agent: str = ""
    keep_ignored: bool = True
    max_attempts: int = 3
    max_evidence: int = 8_388_608
    secrets: tuple[str, ...] = ()
    agents: dict[str, AgentTable] = field(default_factory=dict)

    def setups(self) -> dict[str, AgentSetup]:
        """The agents as adapters are given them."""
        return {name: table.setup(name) for name, table in self.agents.items()}

    def agent_of(self, name: str) -> str:
        """The name of the agent that an envelope is given to.

        Raises:
            UsageError: there is none of that name.
        """
        only = next(iter(self.agents)) if len(self.agents) == 1 else ""
        chosen = name or self.default_agent or only
        if chosen not in self.agents:
            known = ", ".join(sorted(self.agents)) or "none"
            raise UsageError(f"this runner has no agent {chosen!r}; it has {known}")
        return chosen


def read_config(path: Path) -> RunnerConfig:
    """Read the file.

    Raises:
        UsageError: it cannot be read, or something in it is unknown, missing or of another type.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the configuration {path} cannot be read: {error.strerror}; name one with --config") from None
    except ValueError as error:
        raise UsageError(f"the configuration {path} is no TOML: {error}") from None
    try:
        return from_data(RunnerConfig, found, path.name)
    except ContractError as error:
        raise UsageError(f"the configuration is refused at {error}") from None


def base_environment() -> dict[str, str]:
    """What every agent and check finds in its environment, whatever else it is given."""
    return {name: os.environ[name] for name in _PLAIN if name in os.environ}
