"""``Runner``: a consumer whose handler has agents do the work.

config = read_config(Path("runner.toml"))
runner = Runner(config, open_backend(config.storage).ports)
await runner.run()
"""

from __future__ import annotations

from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.runtime import Consumer
from flowli.world import SYSTEM, World
from flowli_runner.agents.finding import make_agents
from flowli_runner.work.config import RunnerConfig
from flowli_runner.work.handler import AgentHandler
from flowli_runner.work.jobs import Jobs
from flowli_runner.work.leftovers import put_leftovers_away
from flowli_runner.work.means import Means
from flowli_runner.work.plane import Plane, PortPlane

__all__ = ["Runner", "make_handler", "site_of"]


def site_of(config: RunnerConfig, world: World) -> Site:
    """The name of a runner, as leases and answers show it."""
    return Site(config.worker_id or world.process().host)


def make_handler(config: RunnerConfig, plane: Plane, *, world: World = SYSTEM) -> tuple[AgentHandler, Means]:
    """The handler of a configuration, for a consumer of one's own.

    Args:
        plane: ``PortPlane``, or another way to the bucket.

    Raises:
        UsageError: an agent's kind or setup is refused.
    """
    setups = config.setups()
    agents = make_agents(setups.values(), world)
    means = Means(plane, config, setups, agents, Jobs(config, setups, world), site_of(config, world), world)
    return AgentHandler(means), means


class Runner:
    """Works on the delegates of one queue of a bucket.

    Args:
        config: what it works with.
        ports: of the bucket.

    Raises:
        UsageError: an agent's kind or setup is refused.
    """

    def __init__(self, config: RunnerConfig, ports: Ports, *, world: World = SYSTEM) -> None:
        self._config = config
        plane = PortPlane(ports, config.queue, site_of(config, world), world)
        handler, self._means = make_handler(config, plane, world=world)
        self._consumer = Consumer(
            ports,
            config.queue,
            handler,
            site=self._means.site,
            world=world,
            parallel=config.parallel,
            ttl_s=config.ttl_s,
            done=handler.done,
        )

    async def run(self) -> None:
        """Put away what dead runners left, then work until ``drain``."""
        await put_leftovers_away(self._means)
        await self._consumer.run()

    async def run_once(self) -> int:
        """Work on the tasks that can be taken now; returns how many."""
        await put_leftovers_away(self._means)
        return await self._consumer.run_once()

    async def drain(self) -> None:
        """Take no more tasks; agents that have not ended after ``drain_s`` are left to the next runner."""
        self._means.leaving.set()
        await self._consumer.drain(self._config.drain_s)
