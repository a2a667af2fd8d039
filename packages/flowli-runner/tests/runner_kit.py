"""What the tests of the runner share."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowli.domain.channels import WaitMarker
from flowli.domain.delegate import Answer
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import Task, TaskKind
from flowli.world import SYSTEM
from flowli_runner.contracts import Report, from_data
from flowli_runner.process.handle import Handle
from flowli_runner.work.config import AgentTable, RunnerConfig
from flowli_runner.work.records import record_eid

NAMED = ["-c", "user.name=test", "-c", "user.email=t@example.org", "-c", "commit.gpgSign=false"]


def git(folder: Path, *args: str) -> str:
    """Git as a person uses it."""
    done = subprocess.run(["git", *NAMED, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "src").mkdir()
    (folder / "src/app.py").write_text("print('hello')\n")
    (folder / "README").write_text("read me\n")
    (folder / ".gitignore").write_text("build/\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


AGENT = str(Path(__file__).with_name("fake_agent.py"))


def config_of(tmp_path: Path, repository: Path | None, **more: Any) -> RunnerConfig:
    """A runner with the fake agent, named ``fake``."""
    table = AgentTable(argv=(sys.executable, AGENT, "{prompt_file}"), grace_s=0.2, timeout_s=120.0, orphan_s=60.0)
    given: dict[str, Any] = {
        "repository": "" if repository is None else str(repository),
        "work_dir": str(tmp_path / "work"),
        "worker_id": "runner-1",
        "agents": {"fake": table},
        **more,
    }
    return RunnerConfig(**given)


def envelope(*deeds: str, **more: Any) -> dict[str, Any]:
    """An envelope whose prompt tells the fake agent what to do."""
    return {"intent": "\n".join(["please", *deeds]), "write_scopes": ["src/**"], **more}


@dataclass
class Bench:
    """A bucket with an execution that has delegated work."""

    ports: Ports
    eid: Any = None
    count: int = 0

    async def delegate(self, payload: Any) -> str:
        """Put a task on the queue; returns its id."""
        self.count += 1
        self.eid = SYSTEM.uuid7()
        site = Site("test")
        by = Provenance(Actor(ActorKind.SYSTEM, "test"), site, SYSTEM.now())
        data = {"payload": payload, "reply_to": {"eid": str(self.eid), "channel": f"reply{self.count}"}}
        task = Task("agents", TaskKind.DELEGATE, self.eid, SYSTEM.now(), by, key=f"d{self.count}", payload=data)
        await self.ports.queue.enqueue(task)
        await self.ports.channel.mark(WaitMarker(f"{self.eid}.reply{self.count}", self.eid, 1, ("root/receive#1",)))
        return task.task_id

    async def answers(self) -> list[Answer]:
        """What was answered to the last task."""
        found = await self.ports.channel.read(f"{self.eid}.reply{self.count}")
        return [Answer.from_data(message.payload) for message in found.messages]

    async def report(self) -> Report:
        """The report of the last task."""
        (answer,) = await self.answers()
        assert answer.error is None, answer.error
        return from_data(Report, answer.value, "report")

    async def tasks(self) -> int:
        """How many stand in the queue."""
        return len(await self.ports.queue.list("agents"))

    async def evidence(self, report: Report) -> dict[str, bytes]:
        """The bodies of a report, by the last part of their names."""
        found = {one.name: await self.ports.evidence.get(self.eid, one.name) for one in report.evidence}
        return {name.rpartition("/")[2]: body or b"" for name, body in found.items()}


async def until(holds: Callable[[], object]) -> None:
    """Let real programs run until something holds."""
    for _ in range(5000):
        if holds():
            return
        await SYSTEM.sleep(0.02)
    raise AssertionError("it never came to hold")


def command_lines() -> dict[int, bytes]:
    """What every process of this host was started with."""
    found: dict[int, bytes] = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended since
            found[int(path.parent.name)] = path.read_bytes()
    return found


async def record_of(bench: Bench, task_id: str) -> dict[str, Any]:
    """What is written down about the work of a task."""
    lease = await bench.ports.ownership.read(record_eid(task_id))
    return {} if lease is None or not lease.state else dict(lease.state)


async def handle_of(bench: Bench, task_id: str, but: str = "") -> Handle:
    """Of the agent that was started for a task, of another attempt than ``but``."""
    for _ in range(5000):
        if text := (await record_of(bench, task_id)).get("handle"):
            handle = Handle.of(json.loads(text))
            assert handle is not None
            if handle.attempt != but:
                return handle
        await SYSTEM.sleep(0.02)
    raise AssertionError("no agent was started")
