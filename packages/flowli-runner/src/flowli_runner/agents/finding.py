"""The agents of a configuration, made by the adapters that plugins provide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from flowli.descriptors import AgentType
from flowli.domain.errors import UsageError
from flowli.plugins import manager
from flowli.world import World
from flowli_runner.agents.agent import Agent, AgentFactory, AgentSetup

__all__ = ["make_agents"]


def make_agents(setups: Iterable[AgentSetup], world: World) -> dict[str, Agent]:
    """The adapters by the names of their agents; only the kinds that are named are loaded.

    Raises:
        UsageError: no plugin provides a kind, or the adapter refuses its setup.
    """
    kinds = manager().all(AgentType)
    made: dict[str, Agent] = {}
    for setup in setups:
        if setup.kind not in kinds:
            known = ", ".join(sorted(kinds)) or "none"
            raise UsageError(
                f"agent {setup.name!r} is of kind {setup.kind!r}, which nothing provides; there are {known}"
            )
        made[setup.name] = cast("AgentFactory", kinds[setup.kind].load())(setup, world)
    return made
