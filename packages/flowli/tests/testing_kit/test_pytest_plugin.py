"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

APP = """
from flowli import Context, Registry

registry = Registry()


@registry.workflow
async def greet(ctx: Context, name: str) -> str:
    await ctx.sleep(86400)
    return f"hello {name}"
"""

TEST = """
import sys

LOADED = {"flowli.testing.pytest_plugin", "flowli.runtime"} & sys.modules.keys()


def test_nothing_is_imported_before_it_is_needed():
    assert LOADED == {"flowli.testing.pytest_plugin"}


async def test_greeting(flowli_env):
    assert await flowli_env.run("greet", "Ada") == "hello Ada"
"""

OTHER = """
import pytest

from flowli import Context, Registry


@pytest.fixture
def flowli_registry():
    registry = Registry()

    @registry.workflow
    async def shout(ctx: Context, name: str) -> str:
        return name.upper()

    return registry


async def test_shouting(flowli_env):
    assert await flowli_env.run("shout", "Ada") == "ADA"
"""


def run(folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env=environment | {"PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    return tmp_path


def test_the_fixture_runs_the_workflows_of_the_configuration_or_of_a_fixture(folder: Path) -> None:
    (folder / "test_app.py").write_text(TEST)
    (folder / "test_other.py").write_text(OTHER)
    with (folder / "pytest.ini").open("a") as file:
        file.write("flowli_registry = app:registry\n")
    assert "3 passed" in run(folder)


def test_without_workflows_it_says_what_to_do(folder: Path) -> None:
    (folder / "test_app.py").write_text("async def test_it(flowli_env): ...\n")
    printed = run(folder)
    assert "define a fixture named flowli_registry" in printed
    assert "1 error" in printed
