"""The guide: its configurations, its envelope and its command lines are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flowli.world import SYSTEM
from flowli_runner.agents import Job
from flowli_runner.agents.finding import make_agents
from flowli_runner.contracts import Envelope, from_data
from flowli_runner.work.config import base_environment, read_config

GUIDE = (Path(__file__).parents[3] / "docs/how-to/run-agents.md").read_text()


def block(language: str, title: str) -> str:
    found = re.search(rf'^```{language} title="{title}"\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_envelope_of_the_guide_is_one():
    assert from_data(Envelope, json.loads(block("json", "envelope")), "envelope").agent.name == "claude"


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_command_lines_of_the_guide_are_those_that_are_started(name, tmp_path):
    (tmp_path / "runner.toml").write_text(block("toml", name))
    config = read_config(tmp_path / "runner.toml")
    setup = config.setups()[name]
    job = Job("a", tmp_path, Path("TREE"), Envelope("x"), "", {}, setup.limits)
    agent = make_agents([setup], SYSTEM)[name]
    assert " ".join(agent.argv(job)) == block("text", name).strip()  # type: ignore[attr-defined]


def test_the_guide_names_the_variables_that_every_agent_finds(monkeypatch):
    for name in ("PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    assert set(base_environment()) == {"PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL"}
    assert ", ".join(f"`{name}`" for name in base_environment()) in " ".join(GUIDE.split())
