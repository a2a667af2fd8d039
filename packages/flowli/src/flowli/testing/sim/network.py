"""``Network``: what lies between the nodes and what they share.

A request takes virtual time to get there and back. It is carried out by what is shared, not by the node: a node that
dies after sending does not take its request back. Each request has a number; a plan gives some of them a fault.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.testing.sim import faults
from flowli.testing.sim.faults import Fault
from flowli.testing.sim.loop import VirtualLoop
from flowli.testing.sim.node import Node

__all__ = ["Answers", "Chooser", "Network", "Operation"]

T = TypeVar("T")


@dataclass(slots=True)
class Operation:
    """One request, for the story and the invariants.

    Attributes:
        number: from 1, in the order of sending.
        at_s: virtual second of sending; ``applied_s`` of its effect, if it had one.
        outcome: what the client was told, "" if nothing.
        refused: it fell into an outage.
        write: it may change something.
    """

    number: int
    at_s: float
    node: str
    verb: str
    key: str
    fault: Fault | None = None
    applied_s: float | None = None
    outcome: str = ""
    data: bytes = b""
    refused: bool = False
    write: bool = False


Chooser: TypeAlias = Callable[[Operation], Fault | None]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a client is told when something goes wrong. An exception is raised, anything else returned.

    Attributes:
        unreachable: the request was not carried out.
        throttled: neither, and fewer are wished for.
        lost: it may have been carried out.
        had_effect: whether a result tells of a change.
        echo: what a write that had an effect is told when it was sent again below.
        unconditional: sending the request again would have its effect again.
    """

    unreachable: Exception
    throttled: Exception
    lost: object
    echo: object
    had_effect: Callable[[object], bool]
    unconditional: bool = False


class _Dead:
    """Nobody is left to be answered."""


class Network(ABC):
    """See the module's docstring.

    Attributes:
        operations: every request so far.
        choose: gives an operation its fault.
        on_kill: kills a node.
    """

    def __init__(self, loop: VirtualLoop, seed: int, latency_s: tuple[float, float]) -> None:
        self.loop = loop
        self.operations: list[Operation] = []
        self.choose: Chooser = lambda operation: None
        self.on_kill: Callable[[Node], None] = lambda node: None
        self._rng = random.Random(f"{seed}/bucket")
        self._latency_s = latency_s
        self._out_until_s = 0.0

    @abstractmethod
    def ports(self, node: Node, *, retire_grace_s: float) -> Ports:
        """The ten ports as the engine of ``node`` sees them."""

    @abstractmethod
    def read(self, work: Callable[[Ports], Awaitable[T]]) -> T:
        """Look at what is shared, outside virtual time and without faults."""

    @abstractmethod
    def executions(self) -> list[Eid]:
        """Those that have a journal."""

    @abstractmethod
    def journal_state(self, eid: Eid) -> object:
        """Something that is another whenever the journal of ``eid`` may be."""

    @abstractmethod
    def durable_instants(self, eid: Eid) -> Mapping[int, float]:
        """When each entry of the journal became durable."""

    @abstractmethod
    def left_of(self, received_on: Mapping[Eid, Collection[str] | None]) -> list[str]:
        """The tasks and wait markers that are left of executions that have ended.

        Args:
            received_on: of each execution the channels on which it received; None if it has not ended.
        """

    @abstractmethod
    def close(self) -> list[str]:
        """The run is over; returns what was found wrong meanwhile."""

    def one_way_s(self) -> float:
        """How long a request or an answer is under way."""
        return self._rng.uniform(*self._latency_s) / 2

    def begin(self, node: Node, verb: str, key: str, data: bytes = b"") -> Operation:
        """A node sends a request."""
        operation = Operation(len(self.operations) + 1, self.loop.time(), str(node), verb, key, data=data)
        self.operations.append(operation)
        operation.fault = self.choose(operation)
        if isinstance(operation.fault, faults.Outage):
            self._out_until_s = self.loop.time() + operation.fault.for_s
        operation.refused = self.loop.time() < self._out_until_s
        return operation

    def later(self, delay_s: float, call: Callable[[], object]) -> None:
        """Do something on the other side, whatever becomes of the nodes."""
        self.loop.run_as(None, lambda: self.loop.call_later(delay_s, call))

    async def carry(self, node: Node, operation: Operation, apply: Callable[[], Any], answers: Answers) -> Any:
        """Take one request there and its answer back, with its fault.

        Args:
            apply: carries it out; what it returns or raises is the answer.
        """
        fault = operation.fault
        if node.dead:
            raise answers.unreachable
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def tell(result: Any) -> None:
            if not answer.done():
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)

        there_s, back_s = self.one_way_s(), self.one_way_s()

        def arrive() -> None:
            result = self._arrive(node, operation, apply, answers)
            if not isinstance(result, _Dead):
                self.later(back_s, lambda: tell(result))

        if isinstance(fault, faults.DieBefore):
            self.on_kill(node)
            await answer
        if isinstance(fault, faults.Slow):
            there_s += fault.after_s
        self.later(there_s, arrive)
        if isinstance(fault, faults.Freeze):
            self._freeze(node, fault)
        try:
            result = await answer
        except Exception as error:
            operation.outcome = type(error).__name__
            raise
        operation.outcome = type(result).__name__
        return result

    def _arrive(self, node: Node, operation: Operation, apply: Callable[[], Any], answers: Answers) -> Any:
        """What becomes of a request, and what is answered."""
        if operation.refused:
            return answers.unreachable

        def land() -> Any:
            try:
                result = apply()
            except Exception as error:
                return error
            if answers.had_effect(result):
                operation.applied_s = self.loop.time()
            return result

        match operation.fault:
            case faults.Refuse():
                return answers.unreachable
            case faults.Throttle():
                return answers.throttled
            case faults.Vanish():
                land()
                return answers.lost
            case faults.Late(after_s):
                self.later(after_s, land)
                return answers.lost
            case faults.DieAfter():
                land()
                self.on_kill(node)
                return _Dead()
        result = land()
        if isinstance(operation.fault, faults.Echo) and operation.write and operation.applied_s is not None:
            return answers.echo
        if isinstance(operation.fault, faults.Resent) and answers.unconditional:
            self.later(operation.fault.after_s, apply)
        return result

    def _freeze(self, node: Node, fault: faults.Freeze) -> None:
        def thaw() -> None:
            if fault.suspend:
                node.slept_s += fault.for_s
            if not node.dead:
                self.loop.thaw(node)

        node.frozen = True
        self.later(fault.for_s, thaw)
