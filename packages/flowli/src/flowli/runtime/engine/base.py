"""What every verb of the engine needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from flowli.domain.data import Data
from flowli.domain.ids import Eid, parse_eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.runtime.announcer import Announcer
from flowli.runtime.config import EngineConfig
from flowli.runtime.hub import Hub
from flowli.runtime.limits import check_size
from flowli.runtime.observe.delivery import Observer
from flowli.runtime.observe.observers import Observers
from flowli.runtime.observe.trace_context import current_trace
from flowli.runtime.observe.tracer import Tracer
from flowli.runtime.registry import Registry
from flowli.runtime.services import Services
from flowli.world import SYSTEM, World

__all__ = ["EngineBase", "PortsCodec", "as_eid"]


class PortsCodec(Protocol):
    """What protects values on their way to a backend: ``flowli.adapters.coded.ValueCodec``."""

    @property
    def max_value_bytes(self) -> int:
        """The largest value that it takes."""

    def wrap(self, ports: Ports, *, world: World = SYSTEM) -> Ports:
        """Ports whose values go through it."""


class EngineBase:
    """Ports, settings and helpers that the verbs share.

    Args:
        ports: of the backend.
        site: this process; its ``worker_id`` names it in leases, entries and logs.
        registry: the workflows that this process knows; None for a client that only starts others by name.
        config: settings.
        world: clocks, chance, ids.
        codec: compresses, encrypts, offloads values on their way to the backend; None stores them as they are. Every
            process that reads values needs one. With it values may be as large as it takes, unless ``config`` says
            otherwise.
        observers: are told of what this engine and its workers and sweepers do, beside those of plugins; a tracer
            among them makes spans.
    """

    def __init__(
        self,
        ports: Ports,
        site: Site,
        *,
        registry: Registry | None = None,
        config: EngineConfig | None = None,
        world: World = SYSTEM,
        codec: PortsCodec | None = None,
        observers: Sequence[Observer | Tracer] = (),
    ) -> None:
        self.ports = ports = ports if codec is None else codec.wrap(ports, world=world)
        self.site = site if site.instance else replace(site, instance=world.token())
        self.registry = Registry() if registry is None else registry
        self.config = _limited(EngineConfig() if config is None else config, codec)
        self.world = world
        self.hub = Hub(world)
        self.observers = Observers(world, observers)
        self.announcer = Announcer(ports.control, world, self.observers)
        self.services = Services(
            ports, self.site, self.registry, self.config, self.world, self.hub, self.announcer, self.observers
        )

    def _by(self, actor: Actor | None) -> Provenance:
        """This process, now, acting for ``actor``, in the trace of the caller."""
        who = actor or Actor(ActorKind.SYSTEM, self.site.worker_id)
        return Provenance(who, self.site, self.world.now(), trace=current_trace())

    def _check_size(self, path: str, data: Data) -> None:
        """Refuse a value over the limit."""
        check_size(path, data, self.config.max_value_bytes)


def _limited(config: EngineConfig, protecting: PortsCodec | None) -> EngineConfig:
    """The settings with the largest value that is really taken."""
    if protecting is None:
        return config
    unset = config.max_value_bytes == EngineConfig().max_value_bytes
    limit = protecting.max_value_bytes if unset else min(config.max_value_bytes, protecting.max_value_bytes)
    return replace(config, max_value_bytes=limit)


def as_eid(eid: Eid | str) -> Eid:
    """An execution id, also as text.

    Raises:
        InvalidName: the text is no execution id.
    """
    return eid if isinstance(eid, Eid) else parse_eid(eid)
