"""The command line as tests drive it: in process, with piped output and an environment of its own."""

import os
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from flowli.cli.main import flowli

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
        return CliRunner().invoke(flowli, list(map(str, arguments)), prog_name="flowli", **options)

    return run
