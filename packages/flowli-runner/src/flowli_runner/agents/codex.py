"""``codex``: the command line of Codex, without its terminal.

    codex exec --json --sandbox workspace-write --cd TREE [--model M] ... -

The prompt comes on standard input. ``argv`` of the setup is added before the dash, or, if it begins with a program,
names another one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flowli.world import World
from flowli_runner.agents.agent import AgentSetup, Job, Said
from flowli_runner.agents.command import CommandAgent, read_report
from flowli_runner.agents.lines import events, merged, whole
from flowli_runner.agents.own_program import split_program
from flowli_runner.contracts import Cost, Outcome

__all__ = ["CodexAgent"]


class CodexAgent(CommandAgent):
    """Runs Codex."""

    def __init__(self, setup: AgentSetup, world: World) -> None:
        self._program, self._more = split_program("codex", setup.argv)
        super().__init__(replace(setup, argv=(self._program,)), world)

    def argv(self, job: Job) -> list[str]:
        """The whole command of a job."""
        argv = [self._program, "exec", "--json"]
        if not {"--sandbox", "-s", "--dangerously-bypass-approvals-and-sandbox"} & set(self._more):
            argv += ["--sandbox", "workspace-write"]
        argv += ["--cd", str(job.tree)]
        if job.envelope.agent.model:
            argv += ["--model", job.envelope.agent.model]
        return [*argv, *self._more, "-"]

    def said(self, job: Job, output: bytes) -> Said:
        """The last message of the agent is its summary; a report file says more."""
        summary, session, failed = "", "", False
        tokens_in: int | None = None
        tokens_out: int | None = None
        for event in events(output):
            match event:
                case {"type": "thread.started", "thread_id": str(thread)}:
                    session = thread
                case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                    summary = text
                case {"type": "turn.completed"}:
                    failed = False
                    usage: Any = event.get("usage")
                    usage = usage if isinstance(usage, dict) else {}
                    tokens_in = _added(tokens_in, whole(usage.get("input_tokens")))
                    tokens_out = _added(tokens_out, whole(usage.get("output_tokens")))
                case {"type": "turn.failed", "error": {"message": str(message)}}:
                    failed, summary = True, message
                case _:
                    continue
        told = Said(
            outcome=Outcome.FAILED if failed else None,
            summary=summary,
            session=session,
            cost=Cost(tokens_in=tokens_in, tokens_out=tokens_out),
        )
        return merged(read_report(job), told)


def _added(before: int | None, more: int | None) -> int | None:
    return before if more is None else (before or 0) + more
