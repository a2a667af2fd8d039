"""``Node``: one simulated process, and the ``World`` that it sees."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from flowli.testing.sim.loop import VirtualLoop
from flowli.timestamp import Timestamp
from flowli.world import Background, ProcessIdentity

__all__ = ["EPOCH", "InstantWorld", "Node", "NodeWorld"]

T = TypeVar("T")

EPOCH = Timestamp.parse("2026-01-01T00:00:00.000000Z")
"""The wall clock at virtual second 0."""


@dataclass(eq=False)
class Node:
    """One process.

    Attributes:
        name: of the role; a restarted node has the same name and the next ``life``.
        host: nodes of one host see at once that another one is dead.
        skew_s: its wall clock is so much ahead.
    """

    loop: VirtualLoop
    name: str
    host: str
    seed: int
    life: int = 1
    skew_s: float = 0.0
    dead: bool = False
    frozen: bool = False
    parked: list[asyncio.Handle] = field(default_factory=list)
    slept_s: float = 0.0

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed}/{self.name}/{self.life}")
        self.world = NodeWorld(self)

    def __str__(self) -> str:
        return self.name if self.life == 1 else f"{self.name}'{self.life}"

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run ``work`` in this process."""
        task: asyncio.Task[T] = self.loop.run_as(self, lambda: self.loop.create_task(work))
        return task


class _Inline(Executor):
    """Threads of a simulated process: what they do takes no time."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class _Beside:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def stop(self) -> None:
        self._task.cancel()


class NodeWorld:
    """The ``World`` of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._drawn = 0

    def now(self) -> Timestamp:
        node = self._node
        return Timestamp(EPOCH.us + round((node.loop.time() + node.skew_s) * 1_000_000))

    def monotonic_s(self) -> float:
        return self._node.loop.time() - self._node.slept_s

    def boottime_s(self) -> float:
        return self._node.loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> random.Random:
        return self._node.rng

    def uuid7(self) -> UUID:
        milliseconds = self.now().us // 1000
        value = (milliseconds << 80) | (self._node.rng.getrandbits(74))
        value = (value & ~(0xF << 76)) | (0x7 << 76)
        value = (value & ~(0x3 << 62)) | (0x2 << 62)
        return UUID(int=value)

    def token(self) -> str:
        return f"{self._node.rng.getrandbits(128):032x}"

    def process(self) -> ProcessIdentity:
        node = self._node
        return ProcessIdentity(node.host, node.life, f"boot-{node.host}", "pids", f"{node.name}/{node.life}")

    def is_dead(self, other: ProcessIdentity) -> bool:
        return other.host == self._node.host and other.started in self._node.loop.dead_processes

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> Background:
        async def main() -> None:
            await work()

        return _Beside(asyncio.get_running_loop().create_task(main()))

    def pool(self, name: str, threads: int) -> Executor:
        return _Inline()


class InstantWorld(NodeWorld):
    """The world of a backend that a node has opened: no virtual time passes while it answers."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
