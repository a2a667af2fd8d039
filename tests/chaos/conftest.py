"""What the cases of chaos share: a driver in a process of its own, since it forks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
Drive = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Drive:
    """Run a driver with arguments; returns what it printed."""

    def run(driver: str, *arguments: str) -> list[dict[str, Any]]:
        folder = tmp_path_factory.mktemp("chaos")
        done = subprocess.run(
            [sys.executable, str(HERE / driver), str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=1800,
            env=os.environ.copy(),
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.fixture(scope="session")
def counted(drive: Drive) -> dict[str, int]:
    """How many operations each process makes when nothing strikes."""
    (told,) = drive("chaos_driver.py", "none@0:worker")
    assert told["problems"] == []
    return {"client": told["operations"]["ask"], "worker": told["operations"]["work"]}
