"""``Means``: what a handler works with."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from flowli.domain.provenance import Site
from flowli.world import World
from flowli_runner.agents import Agent, AgentSetup
from flowli_runner.work.config import RunnerConfig
from flowli_runner.work.jobs import Jobs
from flowli_runner.work.plane import Plane

__all__ = ["Means"]


@dataclass(frozen=True, slots=True)
class Means:
    """What a handler works with.

    Attributes:
        plane: evidence, records and scopes.
        site: names this runner.
        setups: of the agents, by name; ``agents`` are their adapters.
        leaving: set when this process ends: agents are left to the next one, whatever their work is cancelled for.
    """

    plane: Plane
    config: RunnerConfig
    setups: Mapping[str, AgentSetup]
    agents: Mapping[str, Agent]
    jobs: Jobs
    site: Site
    world: World
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
