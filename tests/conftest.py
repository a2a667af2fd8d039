"""Prints at the end what tests have measured (``record_property``)."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    for line in sorted(f"{name}: {value}" for report in reports for name, value in report.user_properties):
        terminalreporter.write_line(line)
