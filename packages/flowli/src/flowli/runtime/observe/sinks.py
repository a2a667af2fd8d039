"""Sinks: places outside that take changes as CloudEvents; distributions bring them by the hook ``flowli_event_sinks``.

``Published`` makes a sink the handler of a subscription, so that each event is given at least once, exactly as its
change was announced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from flowli._suggest import near
from flowli.descriptors import EventSinkType
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.runtime.observe.cloudevents import cloud_event
from flowli.runtime.observe.subscription import Delivered
from flowli.world import SYSTEM, World

__all__ = ["EventSink", "Published", "SinkFactory", "open_sink"]


class EventSink(Protocol):
    """Takes events. It may be given one twice, and knows it by its ``id``."""

    async def publish(self, event: Mapping[str, Data], /) -> None:
        """Take one CloudEvent in JSON form; return when it is safe there.

        Raises:
            NonRetryableError: it will never be taken; it becomes a dead letter.
            Exception: anything else is tried again.
        """

    async def close(self) -> None:
        """Let go of connections and threads."""


@runtime_checkable
class SinkFactory(Protocol):
    """Opens sinks of one type. The class of the sink itself usually is one, with a class method."""

    def from_url(self, url: str, *, world: World) -> EventSink:
        """Open the sink that ``url`` names.

        Raises:
            UsageError: the URL does not fit, with one sentence that says what to write.
        """


class Published:
    """A handler of subscriptions that gives each change to a sink.

    Args:
        source: ``source`` of the CloudEvents; names the installation.

    Example:
        >>> topic = Subscription("topic", Published(open_sink("topic:orders")))
    """

    def __init__(self, sink: EventSink, *, source: str = "/flowli") -> None:
        self._sink = sink
        self._source = source

    async def __call__(self, one: Delivered) -> None:
        """Publish one change."""
        await self._sink.publish(cloud_event(one, self._source))


def open_sink(url: str, *, world: World = SYSTEM) -> EventSink:
    """The sink that a URL names: its scheme is the name of a type that a distribution provides.

    Raises:
        UsageError: there is no such type, or the URL does not fit it.
    """
    from flowli.plugins import manager

    scheme, colon, _ = url.partition(":")
    known = manager().all(EventSinkType)
    found = known.get(scheme) if colon else None
    if found is None:
        names = ", ".join(f"'{name}:'" for name in sorted(known)) or "none"
        raise UsageError(f"{url!r} names no sink that is installed{near(scheme, known) or '.'} There are: {names}")
    factory = found.load()
    if not isinstance(factory, SinkFactory):
        raise UsageError(f"sink '{scheme}' cannot be opened: what its plugin loads has no from_url; tell its authors")
    return factory.from_url(url, world=world)
