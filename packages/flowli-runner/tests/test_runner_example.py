"""The example: plans, delegates, gates, is reviewed, and tries again with the findings."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from flowli import Engine, EngineConfig, MemoryBackend, Site
from flowli.domain.errors import ResultTimeout
from flowli.world import SYSTEM
from flowli_runner.runner import Runner
from flowli_runner.work.config import read_config

from .runner_kit import config_of, git, make_repository

pytest.importorskip("flowli_patterns")

EXAMPLE = Path(__file__).parents[3] / "docs/examples/agents"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agents_example", EXAMPLE / "workflow.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Office:
    """Engine, worker, runner, and somebody who decides."""

    def __init__(self, example: ModuleType, tmp_path: Path) -> None:
        self.repository = make_repository(tmp_path / "repo")
        backend = MemoryBackend(SYSTEM)
        config = EngineConfig(hold_s=0.0)
        self.engine = Engine(backend.ports, Site("office"), registry=example.registry, config=config)
        self.runner = Runner(config_of(tmp_path, self.repository), backend.ports)
        self.prompts: list[str] = []

    async def until_ended(self, eid: Any, decide: list[tuple[str, str]]) -> Any:
        verdicts = iter(decide)
        async with self.engine.worker(("default",), concurrency=2) as worker:
            while True:
                await worker.run_until_idle()
                with contextlib.suppress(ResultTimeout):
                    return await self.engine.result(eid, timeout=0)
                for one in await self.engine.reviews.list(who="ann"):
                    verdict, comment = next(verdicts)
                    await self.engine.reviews.decide(one.review, verdict, actor="ann", comment=comment)
                await self.runner.run_once()


@pytest.fixture
def office(example, tmp_path) -> Office:
    return Office(example, tmp_path)


async def test_a_change_is_planned_made_gated_and_accepted_in_the_third_round(office, tmp_path):
    """The first round changes what it must not; the second is sent back by a person; the third is accepted."""
    marker = tmp_path / "round"
    wish = "\n".join(["add a file", f"@round {marker}"])
    eid = await office.engine.start("change", wish, ["src/**"], ["cat", "src/good.py"])
    result = await office.until_ended(eid, [("reject", "rename it"), ("approve", "")])
    assert result.rounds == 3
    assert git(office.repository, "show", f"{result.branch}:src/good.py") == "round 2\nround 3"
    assert git(office.repository, "show", f"{result.branch}:README") == "read me"
    assert git(office.repository, "rev-parse", result.branch) == result.head
    assert len(git(office.repository, "worktree", "list").splitlines()) == 1


async def test_it_gives_up_after_its_rounds_and_says_why(office):
    eid = await office.engine.start("change", "@say nothing", ["src/**"], None, 1)
    with pytest.raises(Exception, match="nothing was changed"):
        await office.until_ended(eid, [])


def test_the_gate_believes_no_words(example):
    report = {"outcome": "completed", "summary": "", "checks": [], "outside": [], "changes": [{"path": "a"}]}
    assert example.gate(report) == []
    assert example.gate({**report, "outside": ["x"]}) == ["x was changed and must not be"]
    assert example.gate({**report, "outcome": "blocked", "summary": "no rights"}) == ["the work is blocked: no rights"]
    failed = {**report, "checks": [{"name": "tests", "passed": False}]}
    assert example.gate(failed) == ["check 'tests' failed"]
    assert json.dumps(example.shown({**report, "branch": "b", "base": "c", "head": "d", "evidence": []}))


def test_the_configuration_of_the_example_is_read():
    config = read_config(EXAMPLE / "runner.toml")
    assert {name: table.kind for name, table in config.agents.items()} == {
        "claude": "claude-code",
        "codex": "codex",
        "script": "command",
    }
    assert config.agent_of("") == "claude"
