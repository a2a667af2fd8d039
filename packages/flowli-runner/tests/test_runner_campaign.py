"""Runners that are killed with SIGKILL, at the bucket and through the service: one answer, no work lost, nothing left.

``FLOWLI_RUNNER_ROUNDS`` sets the number of rounds of each (1 by default, 100 for the whole campaign). In every second
round the first runner is killed at a storage operation, another one each time, before it and after it in turn. All the
others are killed at random moments.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flowli import CairnBackend, Engine, Registry, Site
from flowli.domain.ids import role_eid
from flowli.domain.ports import Acquired, Holder, Ports
from flowli.world import SYSTEM
from flowli_runner.contracts import Outcome, Report, from_data
from flowli_runner.git.names import repository_name
from flowli_runner.git.scopes import lease_names
from flowli_runner.process import supervisor
from flowli_runner.work.records import record_eid

from .runner_kit import AGENT, command_lines, envelope, git, make_repository, until

ROUNDS = int(os.environ.get("FLOWLI_RUNNER_ROUNDS", "1"))
PROGRAM = str(Path(__file__).with_name("dying_runner.py"))
TOKEN = f"the-token-of-agent-{'x' * 12}"
CONFIG = """
storage = "file:{place}/bucket"
worker_id = "runner-1"
repository = "{place}/repo"
work_dir = "{place}/work"
ttl_s = 3.0
max_attempts = 10

[agents.fake]
argv = ["{python}", "{agent}", "{{prompt_file}}"]
grace_s = 0.2
orphan_s = 300.0
"""
registry = Registry()


@registry.workflow
async def delegating(ctx: Any, payload: dict[str, Any]) -> object:
    """Delegate, and wait for the answer."""
    await ctx.enqueue("agents", payload, reply_to="reply")
    return await ctx.receive("reply", timeout=36_000.0)


@dataclass
class Ground:
    """A bucket, an engine, and runners in processes of their own."""

    place: Path
    engine: Engine
    url: str = ""
    begun: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def ports(self) -> Ports:
        return self.engine.ports

    def begin(self, *more: str, die_at: str = "") -> subprocess.Popen[bytes]:
        """Start a runner."""
        url = ["--url", self.url] if self.url else []
        command = [sys.executable, PROGRAM, "run", "--config", str(self.place / "runner.toml"), *url, *more]
        env = {**os.environ, "FLOWLI_TOKEN": TOKEN, "DIE_AT": die_at}
        with open(self.place / f"runner-{len(self.begun)}.log", "wb") as log:
            self.begun.append(subprocess.Popen(command, stdout=log, stderr=log, env=env))
        return self.begun[-1]

    async def delegate(self, payload: dict[str, Any]) -> tuple[Any, str]:
        """The execution, and the id of its task."""
        eid = await self.engine.start("delegating", payload)
        await self.engine.worker().run_until_idle()
        (view,) = await self.ports.queue.find("agents", eid)
        return eid, view.task.task_id

    async def pending(self) -> int:
        return len(await self.ports.queue.list("agents"))

    async def report(self, eid: Any) -> Report:
        """Of an execution that has ended; its answer was given once."""
        await self.engine.worker().run_until_idle()
        answer = await self.engine.result(eid, timeout=0)
        assert answer["outcome"] == "completed", answer
        assert len((await self.ports.channel.read(f"{eid}.reply")).messages) == 1
        return from_data(Report, answer["value"], "report")

    async def end(self, *processes: subprocess.Popen[bytes]) -> None:
        for process in processes:
            process.terminate()
        await until(lambda: all(process.poll() is not None for process in processes))

    async def swept(self) -> None:
        """A last runner puts away what killed ones could not."""
        last = self.begin("--once")
        await until(lambda: last.poll() is not None)
        assert last.returncode == 0, self.logs()

    async def check_nothing_left(self, task_ids: list[str], scopes: list[str]) -> None:
        """No orphan, no lease, no tree, no file; every attempt that ever had a branch is kept."""
        repository, work = self.place / "repo", self.place / "work"
        attempts = git(repository, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/flowli").split()
        kept = git(repository, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/flowli/kept").split()
        assert set(attempts) == set(kept)
        assert len(git(repository, "worktree", "list").splitlines()) == 1
        assert [one for one in attempts if supervisor.marked(one)] == []
        await until(lambda: not supervisors(work))
        folders = [work / "trees", work / "attempts", *([work / "held"] if self.url else [])]
        assert [path for folder in folders for path in folder.iterdir()] == []
        for task_id in task_ids:
            record = await self.ports.ownership.read(record_eid(task_id))
            assert record is None, record
        for name in lease_names(repository_name(str(repository)), scopes):
            got = await self.ports.ownership.acquire(role_eid(name), Holder("test", Site("test")), 60.0)
            assert isinstance(got, Acquired), got
            await self.ports.ownership.release(got.lease)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.place.glob("runner-*.log")))


def supervisors(work: Path) -> list[int]:
    """The supervisors that have a folder under ``work``."""
    program = supervisor.__file__.encode()
    lines = {pid: line.split(b"\0") for pid, line in command_lines().items()}
    return [
        pid for pid, parts in lines.items() if program in parts and any(one.startswith(bytes(work)) for one in parts)
    ]


@asynccontextmanager
async def ground(place: Path, through: str) -> AsyncIterator[Ground]:
    """A new one."""
    make_repository(place / "repo")
    (place / "bucket").mkdir()
    (place / "runner.toml").write_text(CONFIG.format(place=place, python=sys.executable, agent=AGENT))
    backend = CairnBackend.configure({"storage": f"file:{place / 'bucket'}"})
    engine = Engine(backend.ports, Site("engine"), registry=registry)
    made = Ground(place, engine)
    try:
        if through == "service":
            async with served(engine) as made.url:
                yield made
        else:
            yield made
    finally:
        for process in made.begun:
            process.kill()
        await until(lambda: all(process.poll() is not None for process in made.begun))
        await engine.close()
        await backend.close()


@asynccontextmanager
async def served(engine: Engine) -> AsyncIterator[str]:
    """A service on a port of this host that the system chooses."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("flowli_api")
    from flowli_api.app import create_app
    from flowli_api.auth.identity import Identity
    from flowli_api.auth.static import StaticAuthenticator
    from flowli_api.config import ApiConfig

    agent = Identity("agent", capabilities=frozenset({"tasks:consume:agents"}))
    config = ApiConfig(rate_per_s=None, poll_s=0.05, interface=False)
    app = create_app(engine, authenticator=StaticAuthenticator({TOKEN: agent}), config=config)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=1))
    serving = asyncio.ensure_future(server.serve())
    await until(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


def work(*more: str) -> dict[str, Any]:
    return envelope("@write src/x 1", "@fork", "@say begun", "@nap 1", "@write src/y 2", *more)


@pytest.mark.parametrize("through", ["bucket", "service"])
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_a_killed_runner_is_replaced_and_nothing_is_lost_or_left(tmp_path, number, through):
    chance = random.Random(number)
    async with ground(tmp_path, through) as made:
        eid, task_id = await made.delegate(work())
        for kill in range(chance.randint(1, 3)):
            if kill == 0 and number % 2 == 0:
                at = (9 + number // 2 * 7) % 50  # 50 rounds meet 50 operations
                dying = made.begin(die_at=f"{at}:{'before' if number % 4 else 'after'}")
                while dying.poll() is None and await made.pending():
                    await SYSTEM.sleep(0.1)
            else:
                dying = made.begin()
                await SYSTEM.sleep(chance.uniform(0.3, 3.0))
            dying.kill()
            await until(lambda dying=dying: dying.poll() is not None)
        last = made.begin()
        while await made.pending():
            assert last.poll() is None, made.logs()
            await SYSTEM.sleep(0.1)
        await made.end(last)
        await made.swept()
        report = await made.report(eid)
        assert report.outcome is Outcome.COMPLETED, (report, made.logs())
        assert {one.path for one in report.changes} == {"src/x", "src/y"}
        assert git(tmp_path / "repo", "show", f"{report.resume.ref}:src/y") == "2"
        told = [one.name for one in report.evidence if "transcript" in one.name]
        assert b"".join([await made.ports.evidence.get(eid, name) or b"" for name in told]) == b"begun\n"
        await made.check_nothing_left([task_id], ["src/**"])
