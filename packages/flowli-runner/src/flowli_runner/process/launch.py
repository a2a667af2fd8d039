"""Starting a program under a supervisor, waiting for its end, and finding it again after a restart.

1. Write the specification into the folder of the attempt. *A crash after it*: nothing runs.
2. Start the supervisor. It waits. *A crash after it*: its input ends, it ends, nothing has run.
3. Record its handle. *A crash after it*: as after 2; whoever reads the handle finds a dead process without a result.
4. Let it go on, and give it the environment, which is written nowhere. From here on the work may outlive this
   process; whoever reads the handle finds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flowli.domain.data import Data
from flowli.world import World
from flowli_runner.process import supervisor
from flowli_runner.process.handle import Handle, identify, is_alive, is_here, kill_marked, signal_to

__all__ = ["Limits", "Program", "ProgramEnd", "after_gap", "before_gap", "launch", "reattach"]

Record = Callable[[Data], Awaitable[None]]

_POLL_S = 0.2
_LONGEST_SECRET = 8192


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use.

    Attributes:
        timeout_s: it is ended after so long.
        grace_s: between asking it to end, terminating and killing it.
        max_output: bytes of output that are kept: the first and the last half.
        stop_output: it is ended when it has written more than so many bytes.
        orphan_s: it is ended when no runner has looked at it for so long.
    """

    timeout_s: float = 3600.0
    grace_s: float = 10.0
    max_output: int = 8_388_608
    stop_output: int = 1_073_741_824
    orphan_s: float = 900.0


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended.

    Attributes:
        reason: ``exited``, ``timeout``, ``output``, ``cancelled``, ``orphaned``, ``not_started``, ``lost`` (its
            supervisor was killed).
        left: descendants that had to be ended.
        error: why it was not started.
    """

    reason: str
    exit_code: int | None = None
    signal: int | None = None
    left: int = 0
    output_bytes: int = 0
    error: str = ""


class Program:
    """A program under way, started here or found again."""

    def __init__(self, world: World, handle: Handle) -> None:
        self._world = world
        self.handle = handle
        self._folder = Path(handle.folder)

    @property
    def transcript(self) -> Path:
        """The file that grows while the program writes."""
        return self._folder / "transcript"

    async def wait(self, seen: Callable[[], Awaitable[None]] | None = None) -> ProgramEnd:
        """Until it has ended, showing its supervisor that somebody waits.

        Args:
            seen: called at every look.
        """
        while (end := self._ended()) is None:
            self._touch()
            if seen is not None:
                await seen()
            await self._world.sleep(_POLL_S)
        if seen is not None:
            await seen()
        return end

    async def stop(self) -> ProgramEnd:
        """Ask it to end, and go on to force; returns when it has."""
        signal_to(self._world, self.handle, signal.SIGTERM)
        return await self.wait()

    def output(self) -> bytes:
        """What was kept of its output: the first and the last part, and a line between them for what is missing."""
        first, tail = _read(self.transcript), _read(self._folder / "transcript.tail")
        end = self._ended()
        missing = 0 if end is None else end.output_bytes - len(first) - len(tail)
        if missing <= 0:
            return first + tail
        head, rest = before_gap(first), after_gap(tail)
        missing += len(first) - len(head) + len(tail) - len(rest)
        return head + f"... {missing} bytes left out ...\n".encode() + rest

    def _ended(self) -> ProgramEnd | None:
        alive = is_alive(self._world, self.handle)  # before the result: it is written before the process ends
        found = _read(self._folder / "result.json")
        if found:
            return ProgramEnd(**json.loads(found))
        if alive:
            return None
        return ProgramEnd("lost", left=kill_marked(self.handle.attempt))

    def _touch(self) -> None:
        with contextlib.suppress(OSError):
            os.utime(self._folder / "alive")


async def launch(
    world: World,
    folder: Path,
    attempt: str,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: Path | None,
    limits: Limits,
    record: Record,
) -> Program:
    """Start a program; see the module's docstring for the steps.

    Args:
        folder: of the attempt; it exists.
        argv: program and arguments; no shell reads them.
        env: all that the program finds in its environment, beside the mark of the attempt.
        stdin: what it reads; nothing if None.
        record: keeps the handle where a later runner finds it.
    """
    spec = {
        "attempt": attempt,
        "argv": list(argv),
        "cwd": str(cwd),
        "stdin": None if stdin is None else str(stdin),
        "timeout_s": limits.timeout_s,
        "grace_s": limits.grace_s,
        "max_output": limits.max_output,
        "stop_output": limits.stop_output,
        "orphan_s": limits.orphan_s,
    }
    _write_private(folder / "spec.json", json.dumps(spec).encode())
    _write_private(folder / "alive", b"")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(Path(supervisor.__file__)),
        str(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT")},
    )
    assert process.stdin is not None
    handle = identify(world, attempt, str(folder), process.pid)
    try:
        await record(handle.to_data())
    except BaseException:
        process.stdin.close()
        await process.wait()
        raise
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(json.dumps(dict(env)).encode() + b"\n")
        await process.stdin.drain()
    process.stdin.close()
    return Program(world, handle)


def reattach(world: World, data: Data) -> Program | None:
    """The program of a handle, alive or ended; None if the handle is none, or of another host, boot or namespace."""
    handle = Handle.of(data)
    if handle is None or not is_here(world, handle) or not Path(handle.folder, "spec.json").is_file():
        return None
    return Program(world, handle)


def before_gap(data: bytes) -> bytes:
    """What stands before a gap, without the line that the gap cuts: half a secret cannot be told from other text."""
    end = data.rfind(b"\n") + 1
    return data[: end or max(0, len(data) - _LONGEST_SECRET)]


def after_gap(data: bytes) -> bytes:
    """What stands behind a gap, without the line that the gap cuts."""
    begin = data.find(b"\n") + 1
    return data[begin or _LONGEST_SECRET :]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _write_private(path: Path, data: bytes) -> None:
    """Only this user may read it: arguments of an agent may hold what concerns nobody else."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
