"""Starting is cheap: neither ``import flowli`` nor any plugin loads what it does not use."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

SDKS = [
    "azure",
    "boto3",
    "botocore",
    "google.cloud",
    "fastapi",
    "starlette",
    "uvicorn",
    "opentelemetry",
    "httpx",
    "sqlalchemy",
]
HEAVY = ["asyncio", "structlog", "rich", "click", *SDKS]
PLUGINS = sorted(point.value for point in entry_points(group="flowli"))
REPORT = """
import json, sys, time
{code}
print()
print(json.dumps([time.process_time() * 1000, sorted(sys.modules)]))
"""


def start(code: str) -> tuple[float, list[str]]:
    """Run ``code`` in a new interpreter; return its CPU time in milliseconds and what it loaded."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "FLOWLI"))
    }
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(code=code)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    cpu_ms, loaded = json.loads(done.stdout.splitlines()[-1])
    return cpu_ms, loaded


def heavy(loaded: list[str], names: list[str]) -> list[str]:
    return [name for name in names if name in loaded]


def test_import_flowli_loads_nothing_heavy(record_property):
    cpu_ms, loaded = start("import flowli; flowli.__version__")
    record_property("import flowli", f"{cpu_ms:.0f} ms CPU")
    assert "flowli" in loaded
    assert heavy(loaded, HEAVY) == []


@pytest.mark.parametrize("module", PLUGINS)
def test_no_plugin_module_loads_anything_heavy(module):
    _, loaded = start(f"import {module}")
    assert module in loaded
    assert heavy(loaded, HEAVY) == []


def test_collecting_every_plugin_loads_nothing_heavy(record_property):
    cpu_ms, loaded = start("from flowli.plugins import manager; assert len(manager().plugins) >= 7")
    record_property("collecting all plugins", f"{cpu_ms:.0f} ms CPU")
    assert set(PLUGINS) <= set(loaded)
    assert heavy(loaded, HEAVY) == []


def test_help_with_every_plugin_loads_no_sdk(record_property):
    code = """
sys.argv = ["flowli", "--help"]
from flowli.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code
"""
    cpu_ms, loaded = start(code)
    record_property("flowli --help", f"{cpu_ms:.0f} ms CPU (goal 150)")
    assert set(PLUGINS) <= set(loaded)
    assert heavy(loaded, SDKS) == []


def test_the_check_sees_what_is_loaded():
    _, loaded = start("import asyncio")
    assert heavy(loaded, HEAVY) == ["asyncio"]
