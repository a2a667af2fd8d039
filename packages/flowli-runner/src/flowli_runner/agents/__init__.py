"""Adapters: how the runner hands a piece of work to an agent. Others join by the hook ``flowli_agents``."""

from flowli_runner.agents.agent import Agent, AgentFactory, AgentSetup, Job, Running, Said

__all__ = ["Agent", "AgentFactory", "AgentSetup", "Job", "Running", "Said"]
