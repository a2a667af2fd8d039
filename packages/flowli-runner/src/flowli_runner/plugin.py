"""Registers this distribution with flowli: the adapters of the agents that it knows."""

from __future__ import annotations

from flowli.descriptors import AgentType


def _command() -> object:
    from flowli_runner.agents.command import CommandAgent

    return CommandAgent


def _claude_code() -> object:
    from flowli_runner.agents.claude_code import ClaudeCodeAgent

    return ClaudeCodeAgent


def _codex() -> object:
    from flowli_runner.agents.codex import CodexAgent

    return CodexAgent


def _http() -> object:
    from flowli_runner.agents.http import HttpAgent

    return HttpAgent


def flowli_agents() -> list[AgentType]:
    """The adapters of this distribution."""
    return [
        AgentType("command", "Any program", _command),
        AgentType("claude-code", "Claude Code without its terminal", _claude_code),
        AgentType("codex", "Codex without its terminal", _codex),
        AgentType("http", "A service with start, poll and cancel", _http),
    ]
