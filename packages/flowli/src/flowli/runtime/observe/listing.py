"""Subscriptions as an operator sees them: which there are, how far behind, what they put among the dead letters."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.data import Data
from flowli.domain.entries import START, Announced, ControlEntry
from flowli.domain.errors import UsageError
from flowli.domain.ids import check_key
from flowli.domain.provenance import Provenance
from flowli.runtime.observe.hold import cursor_of, subscription_eid
from flowli.runtime.observe.subscription import DEAD_TOPIC, SUBSCRIPTION_TOPIC
from flowli.runtime.services import Services

__all__ = ["SubscriptionView", "list_subscriptions", "remove_subscription"]


@dataclass(frozen=True, slots=True)
class SubscriptionView:
    """Where a subscription stands.

    Attributes:
        holder: the worker id of the process that delivers; None if none does.
        done: number of the last entry of the control log that it has dealt with.
        behind: entries after that one.
        dead: its dead letters, the oldest first: ``eid``, ``change``, ``seq``, ``attempts``, ``error``.
    """

    name: str
    holder: str | None
    done: int
    behind: int
    dead: tuple[dict[str, Data], ...]


async def list_subscriptions(services: Services) -> list[SubscriptionView]:
    """All that were begun and not removed, by name. Reads the control log."""
    dead: dict[str, list[dict[str, Data]]] = {}
    position, last = START, 0
    while True:
        found = await services.ports.control.read(after=position)
        for entry in found.entries:
            last = entry.seq
            if isinstance(entry.body, Announced) and isinstance(entry.body.data, dict):
                _fold(dead, entry.body.topic, entry.body.data)
        position = found.position
        if found.caught_up:
            break
    return [await _view(services, name, tuple(dead[name]), last) for name in sorted(dead)]


async def remove_subscription(services: Services, name: str, by: Provenance) -> None:
    """Forget a subscription and its cursor. One of that name that is run again begins at the beginning of the log.

    Raises:
        InvalidName: the name cannot be one.
        UsageError: there is none of that name, or a process delivers for it.
    """
    eid = subscription_eid(check_key("subscription", name))
    lease = await services.ports.ownership.read(eid)
    if lease is None or cursor_of(lease.state) is None:
        raise UsageError(f"there is no subscription '{name}'; `flowli subscriptions list` shows those there are")
    if lease.holder is not None and lease.idle_s < lease.ttl_s:
        raise UsageError(f"'{lease.holder.id}' delivers for subscription '{name}'; stop that process first")
    gone: Data = {"name": name, "removed": True}
    await services.ports.control.append([ControlEntry(Announced(SUBSCRIPTION_TOPIC, gone), by)])
    await services.ports.ownership.remove(eid)


def _fold(dead: dict[str, list[dict[str, Data]]], topic: str, said: dict[str, Data]) -> None:
    name = str(said.get("name"))
    if topic == SUBSCRIPTION_TOPIC and said.get("removed"):
        dead.pop(name, None)
    elif topic == SUBSCRIPTION_TOPIC:
        dead.setdefault(name, [])
    elif topic == DEAD_TOPIC and name in dead:
        dead[name].append({key: value for key, value in said.items() if key != "name"})


async def _view(services: Services, name: str, dead: tuple[dict[str, Data], ...], last: int) -> SubscriptionView:
    lease = await services.ports.ownership.read(subscription_eid(name))
    holder, done = None, 0
    if lease is not None:
        found = cursor_of(lease.state)
        done = 0 if found is None else found[1]
        if lease.holder is not None and lease.idle_s < lease.ttl_s:
            holder = lease.holder.site.worker_id
    return SubscriptionView(name, holder, done, max(0, last - done), dead)
