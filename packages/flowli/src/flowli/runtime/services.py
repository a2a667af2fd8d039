"""``Services``: what an engine shares with everything that works for it."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.runtime.announcer import Announcer
from flowli.runtime.config import EngineConfig
from flowli.runtime.hub import Hub
from flowli.runtime.observe.observers import Observers
from flowli.runtime.registry import Registry
from flowli.world import World

__all__ = ["Services"]


@dataclass(frozen=True, slots=True)
class Services:
    """The ports of one backend, the settings, the world, and the short ways within the process."""

    ports: Ports
    site: Site
    registry: Registry
    config: EngineConfig
    world: World
    hub: Hub
    announcer: Announcer
    observers: Observers

    def provenance(self, *, epoch: int = 0, kind: ActorKind = ActorKind.WORKER) -> Provenance:
        """This process, now."""
        return Provenance(Actor(kind, self.site.worker_id), self.site.at_epoch(epoch), self.world.now())
