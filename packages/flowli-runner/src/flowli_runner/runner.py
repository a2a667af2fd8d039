"""``Runner``: a consumer whose handler has agents do the work.

config = read_config(Path("runner.toml"))
runner = Runner(config, open_backend(config.storage).ports)
await runner.run()
"""

from __future__ import annotations

from pathlib import Path

from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.runtime import Consumer
from flowli.world import SYSTEM, World
from flowli_runner.agents.finding import make_agents
from flowli_runner.work.config import RunnerConfig
from flowli_runner.work.handler import AgentHandler, Means
from flowli_runner.work.jobs import Jobs
from flowli_runner.work.leftovers import put_leftovers_away
from flowli_runner.work.records import LocalRecords, PortRecords

__all__ = ["Runner", "make_handler"]


def make_handler(config: RunnerConfig, ports: Ports | None, *, world: World = SYSTEM) -> tuple[AgentHandler, Means]:
    """The handler of a configuration, for a consumer of one's own.

    Args:
        ports: of the bucket; None for a consumer that does not reach it, as ``RemoteConsumer`` of ``flowli-api``.

    Raises:
        UsageError: an agent's kind or setup is refused.
    """
    site = Site(config.worker_id or world.process().host)
    setups = config.setups()
    agents = make_agents(setups.values(), world)
    local = Path(config.work_dir).resolve() / "records"
    records = LocalRecords(local) if ports is None else PortRecords(ports.ownership, site, world)
    means = Means(ports, records, config, setups, agents, Jobs(config, setups, world), site, world)
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
        handler, self._means = make_handler(config, ports, world=world)
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
