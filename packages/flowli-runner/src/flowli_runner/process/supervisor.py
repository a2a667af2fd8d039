"""The process between the runner and an agent. It is run as a file, by ``python -I supervisor.py FOLDER``.

It outlives a runner that dies, so that the agent's work and its exit code are not lost, and it ends the agent and all
of its descendants in every other case. Only the standard library is imported, so that it starts at once.

1. Wait for a line on standard input: it comes when the runner has written down the handle of this process, and holds
   the environment of the program, which stands in no file. The end of the input instead means that the runner died
   before; nothing is started. Then read ``spec.json`` in the folder.
2. Become the parent of orphans, so that a descendant that leaves its group is still found.
3. Start the program in a session of its own, its input from a file, its output through a pipe into ``transcript``:
   the first half of the limit as it comes, and the last half in ``transcript.tail`` at the end.
4. All the while look at the deadline, the output limit, and whether the runner still touches ``alive``.
5. SIGINT, SIGTERM, a deadline or a runner that is gone begin the ladder: SIGINT (ask), then SIGTERM, then SIGKILL, with
   the grace of the specification between them.
6. When the program has ended, its descendants are ended too, and ``result.json`` is written, whole or not at all.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any, NoReturn

__all__ = ["MARK", "main", "marked", "tree"]

MARK = "FLOWLI_RUNNER_ATTEMPT"
"""The variable in the environment of an agent and of all that it starts, by which they are found."""

_TICK_S = 0.1
_CHUNK = 65_536
_LADDER = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Transcript:
    """Standard output and error of the program: the first and the last of it.

    Args:
        path: of the first part; the last one stands beside it.
        limit: how many bytes are kept.
    """

    def __init__(self, path: str, limit: int) -> None:
        self._path, self._half = path, max(1, limit // 2)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._tail: collections.deque[bytes] = collections.deque()
        self._tail_bytes = self.total = 0

    def add(self, data: bytes) -> None:
        """Keep what was read."""
        room = max(0, self._half - self.total)
        self.total += len(data)
        if room:
            os.write(self._file, data[:room])
        rest = data[room:]
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._half:
            self._tail_bytes -= len(self._tail.popleft())

    def close(self) -> None:
        """Write the last part."""
        os.fsync(self._file)
        os.close(self._file)
        _write_whole(f"{self._path}.tail", b"".join(self._tail)[-self._half :])


class Supervisor:
    """One program under supervision.

    Args:
        folder: holds the specification, and is given the results.
        env: environment of the program.
    """

    def __init__(self, folder: str, env: dict[str, str]) -> None:
        with open(os.path.join(folder, "spec.json"), "rb") as file:
            self._spec: dict[str, Any] = {**json.load(file), "env": env}
        self._folder = folder
        self._reason = "exited"
        self._rung, self._alive = -1, -1
        self._begun_s = self._rung_s = self._alive_s = time.monotonic()
        self._read, write = os.pipe()
        self._transcript = Transcript(os.path.join(folder, "transcript"), int(self._spec["max_output"]))
        self._asked: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: self._asked.append(number))
        try:
            self._child = self._start(write)
        finally:
            os.close(write)

    def _start(self, write: int) -> subprocess.Popen[bytes]:
        spec = self._spec
        with open(spec["stdin"] or os.devnull, "rb") as stdin:
            return subprocess.Popen(
                spec["argv"],
                cwd=spec["cwd"],
                env={**spec["env"], MARK: spec["attempt"]},
                stdin=stdin,
                stdout=write,
                stderr=write,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def run(self) -> dict[str, Any]:
        """Until the program and all of its descendants have ended."""
        while self._child.poll() is None:
            self._copy(_TICK_S)
            self._tick()
        left = self._end_all()
        while self._copy(0.0):
            pass
        self._transcript.close()
        code = self._child.returncode
        return {
            "exit_code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "reason": self._reason,
            "left": left,
            "output_bytes": self._transcript.total,
        }

    def _copy(self, timeout_s: float) -> bool:
        if not select.select([self._read], [], [], timeout_s)[0]:
            return False
        data = os.read(self._read, _CHUNK)
        self._transcript.add(data)
        if not data:  # all have closed it: without a pause this would not rest until the program ends
            select.select([], [], [], timeout_s)
        return bool(data)

    def _tick(self) -> None:
        now_s, spec = time.monotonic(), self._spec
        if self._rung < 0:
            reason = self._why_end(now_s)
            if reason is None:
                return
            self._reason, self._rung = reason, 0
        elif self._rung < len(_LADDER) - 1 and now_s - self._rung_s > spec["grace_s"]:
            self._rung += 1
        elif _LADDER[self._rung] != signal.SIGKILL:
            return
        self._rung_s = now_s
        for pid in tree(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, _LADDER[self._rung])

    def _why_end(self, now_s: float) -> str | None:
        """Why the program must end now, if it must."""
        spec = self._spec
        if self._asked:
            return "cancelled"
        if now_s - self._begun_s > spec["timeout_s"]:
            return "timeout"
        if self._transcript.total > spec["stop_output"]:
            return "output"
        touched = _touched(os.path.join(self._folder, "alive"))
        if touched != self._alive:
            self._alive, self._alive_s = touched, now_s
        return "orphaned" if now_s - self._alive_s > spec["orphan_s"] else None

    def _end_all(self) -> int:
        """End what the program left behind; returns how many processes that were."""
        seen: set[int] = set()
        while left := set(tree(os.getpid())) | set(marked(self._spec["attempt"])) - {os.getpid()}:
            seen |= left
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            self._copy(0.01)
        return len(seen)


def tree(root: int) -> list[int]:
    """The living descendants of a process."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        fields = _stat(pid)
        if len(fields) > 1 and fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(pid)
    found, look = list[int](), [root]
    while look:
        more = children.get(look.pop(), [])
        found += more
        look += more
    return found


def marked(attempt: str) -> list[int]:
    """The living processes whose environment carries the mark of an attempt."""
    wanted, found = f"{MARK}={attempt}".encode(), []
    for pid in _pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read().split(b"\0")
        except OSError:
            continue
        if wanted in environment and _stat(pid)[:1] not in (["Z"], ["X"], []):
            found.append(pid)
    return found


def main(folder: str) -> int:
    """Run one supervisor to its end; returns its exit code."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 3
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        supervisor = Supervisor(folder, json.loads(line))
    except OSError as error:
        result: dict[str, Any] = {"exit_code": None, "signal": None, "reason": "not_started", "error": str(error)}
    else:
        result = supervisor.run()
    _write_whole(os.path.join(folder, "result.json"), json.dumps(result).encode())
    return 0


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _touched(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _write_whole(path: str, data: bytes) -> None:
    with open(f"{path}.new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def _run_as_file() -> NoReturn:
    sys.exit(main(sys.argv[1]))


if __name__ == "__main__":
    _run_as_file()
