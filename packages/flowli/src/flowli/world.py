"""The only module that reads clocks, sleeps, draws random numbers, makes ids or starts threads.

Everything else receives a ``World``. A simulator gives every node its own (skewed, frozen, virtual) world and
production code runs in it unmodified; a lint of the test suite refuses any other reader.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import uuid_utils

from flowli.timestamp import Timestamp

__all__ = ["SYSTEM", "Background", "ProcessIdentity", "SystemWorld", "World"]


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """What names one operating-system process without doubt, so that a dead one can be told from a live one.

    Attributes:
        host: host name.
        pid: process id.
        boot_id: changes with every boot of the host; empty where the system tells none.
        pid_namespace: the namespace in which ``pid`` counts; empty where the system has none.
        started: start time of the process in the system's own unit; tells a reused pid.
    """

    host: str
    pid: int
    boot_id: str = ""
    pid_namespace: str = ""
    started: str = ""


class Background(Protocol):
    """Work that runs beside the caller's event loop until it is stopped."""

    def stop(self) -> None:
        """Ask the work to end; returns at once."""


class World(Protocol):
    """Time, chance and identity as one process sees them."""

    def now(self) -> Timestamp:
        """The wall clock. It may step; never compare it with the wall clock of another process."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that never steps and may stand still while the machine is suspended."""

    def boottime_s(self) -> float:
        """Seconds on a clock that never steps and counts suspended time: for the deadlines of leases."""

    async def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""

    def random(self) -> random.Random:
        """This process's source of chance (jitter, spreading); never for secrets, never inside a workflow."""

    def uuid7(self) -> UUID:
        """A new time-ordered id."""

    def token(self) -> str:
        """32 hexadecimal digits that nobody else draws."""

    def process(self) -> ProcessIdentity:
        """Who this process is."""

    def is_dead(self, other: ProcessIdentity) -> bool:
        """Whether ``other`` certainly runs no more. False when this host cannot know."""

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> Background:
        """Run ``work`` on an event loop of its own thread: it goes on while the caller's loop is blocked.

        ``work`` must use clients of its own; nothing it touches may belong to the caller's loop unless it is
        thread-safe.
        """

    def pool(self, name: str, threads: int) -> Executor:
        """An executor for calls that block; at most ``threads`` run at once. The caller shuts it down."""


class SystemWorld:
    """The real thing."""

    def __init__(self) -> None:
        self._random = random.Random()
        self._identities: dict[int, ProcessIdentity] = {}

    def now(self) -> Timestamp:
        return Timestamp(time.time_ns() // 1_000)

    def monotonic_s(self) -> float:
        return time.monotonic()

    def boottime_s(self) -> float:
        clock = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if clock is None else time.clock_gettime(clock)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> random.Random:
        return self._random

    def uuid7(self) -> UUID:
        return UUID(bytes=uuid_utils.uuid7().bytes)

    def token(self) -> str:
        return os.urandom(16).hex()

    def process(self) -> ProcessIdentity:
        pid = os.getpid()
        if pid not in self._identities:
            self._identities[pid] = ProcessIdentity(
                socket.gethostname() or platform.node(),
                pid,
                _read("/proc/sys/kernel/random/boot_id"),
                _link("/proc/self/ns/pid"),
                _started(pid),
            )
        return self._identities[pid]

    def is_dead(self, other: ProcessIdentity) -> bool:
        me = self.process()
        here = (me.host, me.boot_id, me.pid_namespace)
        if not all((me.boot_id, me.pid_namespace, other.started)) or here != (
            other.host,
            other.boot_id,
            other.pid_namespace,
        ):
            return False
        return _started(other.pid) != other.started

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> Background:
        return _ThreadLoop(name, work)

    def pool(self, name: str, threads: int) -> Executor:
        return ThreadPoolExecutor(threads, thread_name_prefix=name)


class _ThreadLoop:
    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._work = work
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        async def main() -> None:
            self._task = asyncio.current_task()
            if not self._stopped:
                await self._work()

        try:
            self._loop.run_until_complete(main())
        except asyncio.CancelledError:
            pass
        finally:
            self._loop.close()

    def stop(self) -> None:
        self._stopped = True
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(lambda: self._task.cancel() if self._task else None)
            except RuntimeError:  # the loop ended between the two lines
                return


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Field 22 of /proc/PID/stat (start time in clock ticks since boot), or "" when there is no such live process."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


SYSTEM: World = SystemWorld()
