"""Replays in other processes: any hash seed, any Python that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import flowli
from flowli.testing.replay import write_history

from .fan_out import fan_out
from .live import calm

HERE = Path(__file__).parent
GUARD = HERE.parent / "guard"
SOURCE = Path(flowli.__file__).parents[1]
INNER = "FLOWLI_TEST_INNER"
TESTS = (HERE / "test_histories.py", HERE / "test_programs.py", HERE / "test_loop.py", HERE / "test_drop.py")
PACKAGES = ("cattrs", "click", "msgpack", "orjson", "pluggy", "rich", "structlog", "uuid-utils")
TEST_PACKAGES = ("hypothesis", "pytest", "pytest-asyncio")
NEEDED = f"import {', '.join((*PACKAGES, *TEST_PACKAGES))}".replace("-", "_")


def run(python: str, *arguments: str, seed: str = "0") -> str:
    """What a process prints."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": seed}
    done = subprocess.run([python, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "fan_out.json"
    write_history(path, calm(fan_out, seed=7).run())
    return path


def test_twenty_processes_with_other_hash_seeds_issue_the_same(history: Path) -> None:
    """RPL-14."""
    script = str(HERE / "fan_out.py")
    with ThreadPoolExecutor(2) as pool:
        printed = set(pool.map(lambda n: run(sys.executable, script, str(history), seed=str(n * 97)), range(20)))
    (only,) = printed
    assert "None ExecutionCompleted" in only


def others() -> dict[str, str]:
    """Other Pythons of this machine, by minor version: of FLOWLI_TEST_PYTHONS, of the path, of pyenv."""
    found: dict[str, str] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in ("3.11", "3.12", "3.13", "3.14"):
        candidates = [
            *os.environ.get("FLOWLI_TEST_PYTHONS", "").split(os.pathsep),
            *map(str, sorted(pyenv.glob(f"versions/{minor}.*/bin/python"))),
            shutil.which(f"python{minor}") or "",
        ]
        for python in filter(None, candidates):
            check = f"import sys; assert sys.version.startswith('{minor}.')"
            if subprocess.run([python, "-c", check], capture_output=True, timeout=30, check=False).returncode == 0:
                found.setdefault(minor, python)
    found.pop(f"{sys.version_info[0]}.{sys.version_info[1]}", None)
    return found


OTHERS = {} if os.environ.get(INNER) else others()


@pytest.mark.skipif(not OTHERS, reason="this machine has no other Python from 3.11 on")
@pytest.mark.parametrize("minor", sorted(OTHERS) or ["none"])
def test_another_python_replays_alike(minor: str, tmp_path: Path) -> None:
    """Kept histories, random programs, the loop and the guard, under another interpreter (RPL-24)."""
    python = environment(minor, OTHERS[minor], tmp_path)
    settings = str(HERE.parents[3] / ".pytest.ini")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", settings, *map(str, TESTS), str(GUARD)]
    # of a folder of installed packages this interpreter may see flowli alone: the others are built for another Python
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "flowli").symlink_to(SOURCE / "flowli", target_is_directory=True)
    env = {**os.environ, "PYTHONPATH": str(alone), INNER: "1", "FLOWLI_TEST_EXAMPLES": "25"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def environment(minor: str, python: str, folder: Path) -> str:
    """A Python of that version with what flowli and its tests need."""
    if subprocess.run([python, "-c", NEEDED], capture_output=True, timeout=60, check=False).returncode == 0:
        return python
    uv, made = shutil.which("uv"), folder / "environment"
    if uv is None:
        pytest.skip(f"Python {minor} lacks what flowli needs, and uv is not here to make an environment for it")
    inside = str(made / "bin" / "python")
    install = ["pip", "install", "--python", inside, *PACKAGES, *TEST_PACKAGES]
    for command in (["venv", "--quiet", "--python", python, str(made)], install):
        done = subprocess.run([uv, *command], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            pytest.skip(f"an environment for Python {minor} could not be made: {done.stderr[-300:]}")
    return inside
