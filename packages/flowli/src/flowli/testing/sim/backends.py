"""``Backends``: a backend of ten ports in the place of the bucket; every call of a port may carry a fault.

A call is one thing that happens at one instant of virtual time: whatever the backend waits for is waited for on a real
loop meanwhile. So it may do I/O of its own, and what is tried is how the engine and the promises of the ports go
together; what the backend does amid a call is for its own tests.
"""

from __future__ import annotations

import asyncio
import functools
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

from flowli.descriptors import Backend
from flowli.domain.errors import BackendUnavailable, OutcomeUnknown
from flowli.domain.ids import Eid
from flowli.domain.ports import Appended, Ports
from flowli.runtime.control_fold import ControlFold
from flowli.testing.sim.loop import VirtualLoop, alone
from flowli.testing.sim.network import Answers, Network
from flowli.testing.sim.node import InstantWorld, Node
from flowli.world import World

__all__ = ["READS", "Backends", "OpenBackend"]

T = TypeVar("T")

OpenBackend: TypeAlias = Callable[[World, str], Backend]
"""Opens the backend as one process sees it. The word names the run: what has another name is another, empty one."""

READS = frozenset(
    {
        *("archive.get", "channel.end", "channel.marker", "channel.markers", "channel.read", "control.compacted"),
        *("control.read", "control.snapshot", "control.snapshot_part", "dispatch.claims", "dispatch.read_start"),
        *("evidence.get", "evidence.list", "executions.get", "journal.read", "ownership.read", "queue.dead"),
        *("queue.find", "queue.list", "queue.queues", "queue.settings", "timers.due", "timers.pending"),
    }
)
"""The methods that change nothing."""

_NAMES = ("task_id", "timer_id", "channel", "task", "eid", "key", "execution", "id")
_POLL_S, _ALL = 1.0, 10_000


class Backends(Network):
    """See the module's docstring.

    Args:
        open_backend: opens the backend for one process.
        name: of the run.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        seed: int,
        open_backend: OpenBackend,
        name: str,
        *,
        latency_s: tuple[float, float] = (0.004, 0.016),
    ) -> None:
        super().__init__(loop, seed, latency_s)
        self._real = asyncio.new_event_loop()
        self._open_backend = open_backend
        self._name = name
        self._opened: dict[int, Backend] = {}
        self._touched: Counter[Eid] = Counter()
        self._durable: defaultdict[Eid, dict[int, float]] = defaultdict(dict)
        self._judge = self._open(Node(loop, "judge", "judge", seed))

    def _open(self, node: Node) -> Ports:
        backend = self._open_backend(InstantWorld(node), self._name)
        self._opened[id(backend)] = backend
        return backend.ports

    def ports(self, node: Node, *, retire_grace_s: float) -> Ports:
        """The ports of a process of its own, each of whose calls goes over the network."""
        inner = self._open(node)
        names = [field.name for field in fields(Ports) if field.name not in ("fork", "poll_hint_s")]
        ports: dict[str, Any] = {name: _Port(self, node, name, getattr(inner, name)) for name in names}
        return Ports(**ports, fork=None, poll_hint_s=_POLL_S)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the backend; no virtual time passes."""
        return alone(self._real, work, close=False)

    def landed(self, verb: str, args: tuple[Any, ...], result: object) -> None:
        """A call has been carried out."""
        if not verb.startswith(("journal.", "archive.")):
            return
        eid = args[0] if isinstance(args[0], Eid) else args[0].execution.eid
        self._touched[eid] += 1
        if verb == "journal.append" and isinstance(result, Appended):
            known = self._durable[eid]
            for seq in range(result.position.seq - len(args[1]) + 1, result.position.seq + 1):
                known.setdefault(seq, self.loop.time())

    def read(self, work: Callable[[Ports], Awaitable[T]]) -> T:
        """Through the ports of a process that no fault strikes."""

        async def main() -> T:
            return await work(self._judge)

        return self.run(main())

    def executions(self) -> list[Eid]:
        """Those that the control log knows."""

        async def known(ports: Ports) -> list[Eid]:
            fold = ControlFold()
            await fold.catch_up(ports.control)
            return sorted(fold.executions)

        return self.read(known)

    def journal_state(self, eid: Eid) -> object:
        """How often its journal or archive was asked for."""
        return self._touched[eid]

    def durable_instants(self, eid: Eid) -> Mapping[int, float]:
        """When the appends were carried out."""
        return self._durable[eid]

    def left_of(self, received_on: Mapping[Eid, Collection[str] | None]) -> list[str]:
        """By the queues, and by the channels on which they received."""

        async def left(ports: Ports) -> list[str]:
            found = [
                f"task {view.task.task_id} of queue '{queue}'"
                for queue in await ports.queue.queues()
                for view in await ports.queue.list(queue, limit=_ALL)
                if received_on.get(view.task.target) is not None
            ]
            for eid, channels in received_on.items():
                for channel in sorted(channels or ()):
                    if await ports.channel.marker(channel, eid) is not None:
                        found.append(f"the marker on channel '{channel}' of {eid}")
            return found

        return self.read(left)

    def close(self) -> list[str]:
        """Close what was opened."""
        for backend in self._opened.values():
            self.run(backend.close())
        self._real.close()
        return []


class _Port:
    """One port of one process: it has the methods of ``inner``."""

    def __init__(self, network: Backends, node: Node, name: str, inner: object) -> None:
        self._network = network
        self._node = node
        for method in dir(inner):
            call: Any = getattr(inner, method)
            if callable(call) and not method.startswith("_"):
                setattr(self, method, functools.partial(self._carry, f"{name}.{method}", call))

    async def _carry(self, verb: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        network = self._network
        # one that is carried out later finds the same
        given = tuple(map(_kept, args))
        kept = {name: _kept(one) for name, one in options.items()}
        operation = network.begin(self._node, verb, _names(given))
        operation.write = verb not in READS

        def apply() -> Any:
            result = network.run(call(*given, **kept))
            network.landed(verb, given, result)
            return result

        return await network.carry(self._node, operation, apply, _answers(operation.write))


def _kept(one: Any) -> Any:
    return tuple(one) if isinstance(one, Iterator) else one


def _answers(write: bool) -> Answers:
    unreachable = BackendUnavailable("the backend cannot be reached; try again")
    lost = OutcomeUnknown("the backend did not answer in time; the same call again is safe")
    return Answers(
        unreachable=unreachable,
        throttled=BackendUnavailable("the backend asks for fewer requests; try again later"),
        lost=lost if write else unreachable,
        echo=lost,
        had_effect=lambda result: True,
    )


def _names(args: Iterable[object]) -> str:
    """What a call is about, for the story."""
    return " ".join(name for one in args if (name := _name(one)))


def _name(one: object) -> str:
    if isinstance(one, str | Eid):
        return str(one)
    if isinstance(one, tuple):
        return ", ".join(name for part in one if (name := _name(part)))
    for name in _NAMES:
        if (found := getattr(one, name, None)) is not None:
            return _name(found)
    return ""
