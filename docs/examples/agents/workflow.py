"""A change to a repository: planned and made by agents, checked by a machine, accepted by people.

Start it with what is wanted, and have a runner work on the queue ``agents``:

    flowli worker --app agents.workflow:registry --storage file:./bucket --with-sweeper
    flowli-runner run --config runner.toml
    flowli start change --storage file:./bucket --args '["Add a --json option to the list command", ["src/**"]]'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flowli import Context, NonRetryableError, Registry
from flowli.patterns import delegate, review

__all__ = ["Changed", "change", "gate", "registry"]

registry = Registry()

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Changed:
    """What came of it.

    Attributes:
        branch: holds the change; nobody has merged it.
        rounds: how many attempts it took.
    """

    branch: str
    head: str
    rounds: int


@registry.workflow
async def change(
    ctx: Context, wish: str, scopes: list[str], tests: list[str] | None = None, rounds: int = 3
) -> Changed:
    """Plan, delegate, gate, review; again with the findings until it is accepted or the rounds are over."""
    plan = await ask(ctx, {"intent": f"Plan this change, and change nothing: {wish}"})
    findings: list[str] = []
    report: Report = {}
    for number in range(1, rounds + 1):
        report = await ask(ctx, envelope(wish, plan, scopes, tests, findings, report))
        findings = await ctx.step(gate, report)
        if not findings:
            decision = await review(ctx, f"Accept {report['branch']}? {wish}", data=shown(report))
            if decision.approved:
                return Changed(report["branch"], report["head"], number)
            findings = [decision.comment or "it was rejected without a comment"]
    raise NonRetryableError(f"not accepted after {rounds} rounds: {'; '.join(findings)}")


async def ask(ctx: Context, payload: dict[str, Any]) -> Report:
    """Have an agent work; its report is the answer."""
    return await delegate(ctx, "agents", payload, timeout=timedelta(hours=4), as_type=dict[str, Any])


def envelope(
    wish: str, plan: Report, scopes: list[str], tests: list[str] | None, findings: list[str], before: Report
) -> dict[str, Any]:
    """What one round asks for. A later one begins from what the earlier one left, if that stayed in its scopes."""
    return {
        "intent": wish,
        "acceptance": ["the checks succeed", "what is new is tested"],
        "write_scopes": scopes,
        "checks": [{"name": "tests", "argv": tests}] if tests else [],
        "knowledge": [{"title": "The plan", "text": plan["summary"]}],
        "findings": findings,
        "base_ref": before.get("base" if before.get("outside") else "head", ""),
        "resume": before.get("resume", {}).get("summary", ""),
    }


def gate(report: Report) -> list[str]:
    """What a machine finds wrong with a report; nothing an agent says counts here."""
    findings = [f"check {one['name']!r} failed" for one in report["checks"] if not one["passed"]]
    findings += [f"{path} was changed and must not be" for path in report["outside"]]
    if report["outcome"] != "completed" and not findings:
        findings.append(f"the work is {report['outcome']}: {report['summary']}")
    if not report["changes"]:
        findings.append("nothing was changed")
    return findings


def shown(report: Report) -> dict[str, Any]:
    """What people see who decide."""
    names = ("branch", "base", "head", "summary", "changes", "checks", "evidence")
    return {name: report[name] for name in names}
