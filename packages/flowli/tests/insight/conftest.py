"""Executions brought to a stand by real runs on one virtual clock, and the command line to move them on.

Every behaviour here holds on each backend of ``KINDS``.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from flowli.adapters.cairndb import CairnBackend
from flowli.cli import main
from flowli.domain.ids import Eid
from flowli.runtime.insight import Explanation

from ..running.fleet import Died, Fleet, Process

KINDS = ("memory", "cairn")


class Stage:
    """A fleet, and a command line that works on its bucket and its clock.

    Attributes:
        cli: the process in which commands run.
    """

    def __init__(self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fleet = fleet
        self.cli = fleet.process("cli", exec_ttl_s=6.0, task_ttl_s=6.0, grace_s=2.0)
        module = ModuleType("stage_application")
        module.engine = self.cli.engine  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "stage_application", module)
        monkeypatch.setenv("FLOWLI_APP", "stage_application:engine")
        loop = asyncio.get_running_loop()

        def run(work: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(fleet.clock.run(work), loop).result()

        monkeypatch.setattr("flowli.cli.session.run_loop", run)

    async def type(self, command: str, *more: str, code: int = 0) -> str:
        """Type a command; returns what it prints."""
        program, *words = shlex.split(command)
        assert program == "flowli"
        done = await asyncio.to_thread(CliRunner().invoke, main.flowli, [*words, *more], prog_name="flowli")
        assert done.exit_code == code, done.output
        return str(done.stdout)

    async def explain(self, eid: Eid) -> Explanation:
        """The explanation; the same whoever asks."""
        told = await self.fleet.run(self.cli.engine.explain(eid))
        assert told == await self.fleet.run(self.fleet.process("other").engine.explain(eid))
        return told

    async def check_evidence(self, told: Explanation) -> None:
        """Every entry and every key that an explanation names is there."""
        seqs = [entry.seq for entry in await self.fleet.run(self.cli.engine.journal(told.eid))]
        assert set(told.evidence.journal) <= set(seqs)
        assert told.evidence.journal or told.evidence.keys
        backend = self.cli.backend
        if isinstance(backend, CairnBackend):
            for key in told.evidence.keys:
                assert await self.fleet.run(_exists(self.fleet, key)), key

    def worker(self, name: str = "w", **options: Any) -> Process:
        """A worker without a sweeper."""
        settings = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "grace_s": 2.0, "hold_s": 0.0}
        return self.fleet.process(name, **settings).work(sweep=False, **options)

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        await self.fleet.clock.advance(seconds)


async def _exists(fleet: Fleet, key: str) -> bool:
    store: Any = fleet._store
    if key.endswith("/"):
        page = await store.list(key, limit=1)
        return bool(page.items if hasattr(page, "items") else page)
    return await store.get(key) is not None


@pytest.fixture(params=KINDS)
async def stage(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Died):
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)
    monkeypatch.setenv("FLOWLI_ACTOR", "ada")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FLOWLI_STORAGE", raising=False)
    fleet = Fleet(request.param, tmp_path)
    yield Stage(fleet, monkeypatch)
    await fleet.close()


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    import structlog

    yield
    structlog.reset_defaults()
