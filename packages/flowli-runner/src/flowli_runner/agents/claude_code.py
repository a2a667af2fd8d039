"""``claude-code``: the command line of Claude Code, without its terminal.

    claude -p --output-format stream-json --verbose --permission-mode acceptEdits [--model M] ...

The prompt comes on standard input. ``argv`` of the setup is added at the end, or, if it begins with a program, names
another one: ``["/opt/claude", "--allowedTools", "Bash(pytest:*)"]``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flowli.world import World
from flowli_runner.agents.agent import AgentSetup, Job, Said
from flowli_runner.agents.command import CommandAgent, read_report
from flowli_runner.agents.lines import events, merged, number, whole
from flowli_runner.agents.own_program import split_program
from flowli_runner.contracts import Cost, Outcome

__all__ = ["ClaudeCodeAgent"]


class ClaudeCodeAgent(CommandAgent):
    """Runs Claude Code."""

    def __init__(self, setup: AgentSetup, world: World) -> None:
        self._program, self._more = split_program("claude", setup.argv)
        super().__init__(replace(setup, argv=(self._program,)), world)

    def argv(self, job: Job) -> list[str]:
        """The whole command of a job."""
        argv = [self._program, "-p", "--output-format", "stream-json", "--verbose"]
        if "--permission-mode" not in self._more and "--dangerously-skip-permissions" not in self._more:
            argv += ["--permission-mode", "acceptEdits"]
        if job.envelope.agent.model:
            argv += ["--model", job.envelope.agent.model]
        return [*argv, *self._more]

    def said(self, job: Job, output: bytes) -> Said:
        """The last ``result`` event tells; a report file says more."""
        result: dict[str, Any] = {}
        for event in events(output):
            if event.get("type") == "result":
                result = event
        usage = result.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        failed = bool(result.get("is_error")) or result.get("subtype") not in (None, "success")
        told = Said(
            outcome=Outcome.FAILED if failed else None,
            summary=str(result.get("result") or ""),
            session=str(result.get("session_id") or ""),
            cost=Cost(
                tokens_in=whole(usage.get("input_tokens")),
                tokens_out=whole(usage.get("output_tokens")),
                usd=number(result.get("total_cost_usd")),
            ),
        )
        return merged(read_report(job), told)
