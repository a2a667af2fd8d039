"""``Jobs``: the folders and trees of a runner's attempts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import structlog

from flowli.domain.delegate import Delegate
from flowli.world import World
from flowli_runner.agents import AgentSetup, Job
from flowli_runner.contracts import Envelope
from flowli_runner.git.names import kept_ref
from flowli_runner.git.tree import Tree, Trees
from flowli_runner.process.launch import Limits
from flowli_runner.work.config import RunnerConfig, base_environment
from flowli_runner.work.masking import secret_values
from flowli_runner.work.prompt import prompt_of
from flowli_runner.work.records import Record

__all__ = ["Jobs"]

_log = structlog.get_logger("flowli.runner")


class Jobs:
    """Makes attempts, finds them again, and puts them away.

    Attributes:
        trees: of the repository; None where there is none.
    """

    def __init__(self, config: RunnerConfig, setups: Mapping[str, AgentSetup], world: World) -> None:
        self._config, self._setups, self._world = config, setups, world
        self._root = Path(config.work_dir).resolve()
        self.trees: Trees | None = None
        if config.repository:
            repository = Path(config.repository)
            self.trees = Trees(repository, self._root / "trees", world=world, ignored=config.keep_ignored)

    def folder(self, attempt: str) -> Path:
        """Of the runner, beside the tree."""
        return self._root / "attempts" / attempt

    def attempts(self) -> list[tuple[str, str, str]]:
        """Every attempt that has a folder here: its name, its task and its execution."""
        found: list[tuple[str, str, str]] = []
        for path in sorted(self._root.glob("attempts/*/task.json")):
            try:
                task = json.loads(path.read_text(encoding="utf-8"))
                found.append((path.parent.name, str(task["task_id"]), str(task["eid"])))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return found

    async def make(self, attempt: str, delegate: Delegate, agent: str, envelope: Envelope) -> tuple[Record, Job]:
        """A new attempt, with its tree and its folder."""
        begun_at = str(self._world.now())
        if self.trees is not None:
            tree = await self.trees.add(attempt, envelope.base_ref or self._config.default_base)
            where, branch, base, attempt = tree.folder, tree.branch, tree.base, tree.attempt
        else:
            where, branch, base = self.folder(attempt) / "tree", "", ""
        folder = self.folder(attempt)
        for path in (folder, folder / "attachments", where):
            path.mkdir(parents=True, exist_ok=True)
        job = self.again(attempt, str(where), agent, envelope)
        _write(job.prompt_file, job.prompt)
        self.adopt(attempt, delegate)
        host = self._world.process().host
        return Record(attempt, agent, host, str(where), branch, base, begun_at=begun_at), job

    def adopt(self, attempt: str, delegate: Delegate) -> None:
        """Write down whose attempt it is: one of another host, say, whose service is reached from here too."""
        self.folder(attempt).mkdir(parents=True, exist_ok=True)
        about = {"task_id": delegate.task_id, "eid": str(delegate.eid)}
        _write(self.folder(attempt) / "task.json", json.dumps(about))

    def again(self, attempt: str, tree: str, agent: str, envelope: Envelope) -> Job:
        """The job of an attempt."""
        limits, folder = self._setups[agent].limits, self.folder(attempt)
        return Job(
            attempt,
            folder,
            Path(tree),
            envelope,
            prompt_of(envelope),
            self._env(agent, folder),
            _least(limits, envelope),
        )

    def secrets(self, agent: str) -> list[str]:
        """The values that are masked in all that is told of an agent's work."""
        setup = self._setups[agent]
        named = [os.environ[name] for name in self._config.secrets if name in os.environ]
        return [*named, *secret_values({**setup.env, **_passed(setup)}, setup.pass_env)]

    def tree(self, record: Record) -> Tree | None:
        """The tree of an attempt; None if it has none here."""
        if self.trees is None or not record.branch or record.host != self._world.process().host:
            return None
        return Tree(record.attempt, Path(record.tree), record.branch, record.base)

    def kept_ref(self, record: Record) -> str:
        """The ref that keeps its bytes; "" without a repository."""
        return kept_ref(record.attempt) if self.trees is not None else ""

    async def put_away(self, record: Record) -> None:
        """Keep all of a tree and remove it; it stays, and is told, where that cannot be done."""
        tree = self.tree(record)
        if self.trees is None or tree is None or not tree.folder.is_dir():
            return
        gone = await self.trees.put_away(tree)
        if gone.why_left:
            _log.warning("a tree stays", folder=str(tree.folder), why=gone.why_left)

    def forget(self, task_id: str) -> None:
        """Remove what the runner wrote beside the trees of a task; without a repository the work itself stays."""
        for attempt, other, _ in self.attempts():
            if other == task_id and self.trees is not None:
                shutil.rmtree(self.folder(attempt), ignore_errors=True)

    def forget_strays(self) -> None:
        """Remove folders that name no task: their runner died while it made them, or while it removed them.

        One whose tree stands may be in the making: a tree is made first, and removed first.
        """
        for folder in self._root.glob("attempts/*"):
            made = (folder / "task.json").exists() or (self._root / "trees" / folder.name).exists()
            if self.trees is not None and not made:
                shutil.rmtree(folder, ignore_errors=True)

    def _env(self, agent: str, folder: Path) -> dict[str, str]:
        setup = self._setups[agent]
        own = {"FLOWLI_ATTACHMENTS": str(folder / "attachments")}
        return {**base_environment(), **_passed(setup), **setup.env, **own}


def _passed(setup: AgentSetup) -> dict[str, str]:
    return {name: os.environ[name] for name in setup.pass_env if name in os.environ}


def _least(limits: Limits, envelope: Envelope) -> Limits:
    asked = envelope.agent.timeout_s
    return limits if asked is None else replace(limits, timeout_s=min(asked, limits.timeout_s))


def _write(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
