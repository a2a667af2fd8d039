"""The command line as tests drive it: in process, with piped output and an environment of its own."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result

from flowli.cli import main

Invoke = Callable[..., Result]


@pytest.fixture
def environment(monkeypatch, tmp_path) -> None:
    for name in list(os.environ):
        if name.startswith("FLOWLI") or name in {"FORCE_COLOR", "NO_COLOR"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FLOWLI_ACTOR", "ada")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def invoke(environment) -> Invoke:
    """Run ``flowli`` with arguments; ``env`` and ``input`` go to the runner."""

    def run(*arguments: str, **options) -> Result:
        return CliRunner().invoke(main.flowli, list(map(str, arguments)), prog_name="flowli", **options)

    return run


class Console:
    """``flowli`` on the application ``shop`` and a folder, in process.

    Attributes:
        errors: standard error of the last command.
    """

    def __init__(self, invoke: Invoke) -> None:
        self._invoke = invoke
        self.errors = ""

    def __call__(self, *arguments: str, code: int = 0, **options) -> str:
        """Standard output of a command that ends with ``code``."""
        done = self._invoke(*arguments, **options)
        self.errors = done.stderr
        assert done.exit_code == code, done.output
        return done.stdout

    def json(self, *arguments: str):
        return json.loads(self(*arguments, "--json"))

    def work(self, *arguments: str) -> None:
        self("worker", "--until-idle", "--log-level", "error", *arguments)


@pytest.fixture
def bucket(environment, tmp_path, monkeypatch) -> Path:
    """The folder of a bucket that does not exist yet; the environment names it, and the application ``shop``."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("FLOWLI_STORAGE", f"file:{tmp_path / 'bucket'}?durability=os")
    monkeypatch.setenv("FLOWLI_APP", "shop:registry")
    monkeypatch.setenv("FLOWLI_EXEC_TTL", "3")
    monkeypatch.setenv("FLOWLI_TASK_TTL", "3")
    return tmp_path / "bucket"


@pytest.fixture
def flowli(bucket, invoke) -> Iterator[Console]:
    yield Console(invoke)
    structlog.reset_defaults()
