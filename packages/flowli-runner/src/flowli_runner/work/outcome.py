"""From the end of a program and what was found in its tree to the outcome of a report."""

from __future__ import annotations

from flowli_runner.agents import Said
from flowli_runner.contracts import CheckResult, Outcome
from flowli_runner.process.launch import ProgramEnd

__all__ = ["INTERRUPTED", "outcome_of", "summary_of"]

INTERRUPTED = frozenset({"lost", "orphaned", "cancelled"})
"""Reasons of an end that say nothing about the work."""


def outcome_of(end: ProgramEnd, said: Said, outside: tuple[str, ...], checks: tuple[CheckResult, ...]) -> Outcome:
    """What has become of the work. What the agent says can make it worse, never better."""
    if end.reason in INTERRUPTED or end.reason == "timeout":
        return Outcome.INTERRUPTED
    if said.outcome is Outcome.BLOCKED:
        return Outcome.BLOCKED
    if end.reason != "exited" or end.exit_code != 0 or said.outcome is Outcome.FAILED:
        return Outcome.FAILED
    if outside or not all(check.passed for check in checks):
        return Outcome.PARTIAL
    return said.outcome or Outcome.COMPLETED


def summary_of(end: ProgramEnd, said: Said) -> str:
    """What people read first."""
    how = {
        "exited": "" if end.exit_code == 0 else f"The agent ended with {_code(end)}.",
        "timeout": "The agent was ended: its time was up.",
        "output": "The agent was ended: it wrote too much output.",
        "cancelled": "The agent was ended on request.",
        "orphaned": "The agent was ended: no runner looked at it any more.",
        "not_started": f"The agent could not be started: {end.error}.",
        "lost": "The supervisor of the agent was killed.",
    }[end.reason]
    return " ".join(part for part in (said.summary.strip(), how) if part)


def _code(end: ProgramEnd) -> str:
    return f"exit code {end.exit_code}" if end.exit_code is not None else f"signal {end.signal}"
