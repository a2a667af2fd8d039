"""Prints at the end what tests have measured (``record_property``), and gives tests of real parts a second try.

An emulator, a browser or a git that gets no processor for ten seconds says nothing about this project. Such a test is
tried again, once, and the report counts it as rerun. Nothing else is: what the engine, the simulator, the cases and the
chaos of real processes find counts the first time.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REAL_PARTS = tuple(ROOT / folder for folder in ("tests/browser", "tests/stores", "packages/flowli-runner/tests"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in REAL_PARTS):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    for line in sorted(f"{name}: {value}" for report in reports for name, value in report.user_properties):
        terminalreporter.write_line(line)
