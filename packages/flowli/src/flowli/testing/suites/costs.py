"""What the promises of a suite cost: requests by the class in which a cloud store bills them, and bytes.

What is counted are the calls of the ports, each in the class that it has at its cheapest, or, where the tests give the
fixture ``counts``, the requests that the backend makes of its storage.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from flowli.codec import canonical, dump
from flowli.domain.ports import Ports
from flowli.testing.stores import Counts

__all__ = ["CLASSES", "CallCounter", "Cost", "total"]

CLASSES: dict[str, dict[str, str]] = {
    "put": {
        "journal": "append",
        "control": "append compact",
        "ownership": "acquire renew request release",
        "dispatch": "claim claim_start replace_start",
        "queue": "enqueue renew nack bury revive configure",
        "channel": "send mark redact trim",
        "timers": "set",
        "executions": "put replace",
        "archive": "put replace",
        "evidence": "put",
    },
    "get": {
        "journal": "read",
        "control": "read",
        "ownership": "read",
        "dispatch": "read_start",
        "queue": "settings",
        "channel": "read end marker",
        "executions": "get",
        "archive": "get",
        "evidence": "get",
    },
    "list": {
        "dispatch": "claims",
        "queue": "dequeue find list queues promote dead",
        "channel": "markers",
        "timers": "due pending",
        "evidence": "list",
    },
    "delete": {
        "journal": "delete",
        "control": "drop",
        "ownership": "remove",
        "dispatch": "forget_claim forget_start",
        "queue": "ack withdraw discard",
        "channel": "unmark drop delete delete_own",
        "timers": "cancel",
        "executions": "delete",
        "archive": "delete",
        "evidence": "delete",
    },
}
"""For each class the methods of each port."""

_CLASS_OF = {
    (port, method): name
    for name, ports in CLASSES.items()
    for port, methods in ports.items()
    for method in methods.split()
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one thing cost.

    Attributes:
        put, get, list, delete: requests of that class.
        sent, received: bytes of what was passed and of what came back.
    """

    put: int = 0
    get: int = 0
    list: int = 0
    delete: int = 0
    sent: int = 0
    received: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @classmethod
    def of(cls, before: Counts, after: Counts) -> Cost:
        """What a storage was asked between two counts of it."""

        def more(name: str) -> int:
            return int(getattr(after, name) - getattr(before, name))

        deleted = more("delete") + more("delete_many")
        return cls(more("put"), more("get"), more("list"), deleted, more("sent"), more("received"))


class CallCounter:
    """Counts the calls of some ports.

    Args:
        ports: the backend.

    Attributes:
        ports: the same backend, counted.
        costs: by operation: ``journal.append``.
    """

    def __init__(self, ports: Ports) -> None:
        self.costs: dict[str, Cost] = {}
        names = {port for some in CLASSES.values() for port in some}
        counted: dict[str, Any] = {name: _Counted(name, getattr(ports, name), self.costs) for name in names}
        self.ports = replace(ports, **counted)


class _Counted:
    """One port. What it does is what the port inside does."""

    def __init__(self, name: str, port: object, costs: dict[str, Cost]) -> None:
        self._name, self._port, self._costs = name, port, costs

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, object]]:
        method = getattr(self._port, name)

        async def call(*args: object, **options: object) -> object:
            operation, kind = f"{self._name}.{name}", _CLASS_OF[self._name, name]
            self._count(operation, Cost(**{kind: 1}, sent=_size([*args, *options.values()])))
            answer: object = await method(*args, **options)
            self._count(operation, Cost(received=_size(answer)))
            return answer

        return call

    def _count(self, operation: str, cost: Cost) -> None:
        self._costs[operation] = self._costs.get(operation, Cost()) + cost


def _size(value: object) -> int:
    """About how many bytes it is as JSON, and exactly how many if it is a body."""
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return len(canonical(dump(value))) if is_dataclass(value) else len(str(value))


def total(costs: Iterable[Cost]) -> Cost:
    """All together."""
    return sum(costs, start=Cost())
