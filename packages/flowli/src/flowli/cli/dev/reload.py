"""``flowli dev --reload``: runs ``flowli dev`` as a child process and starts it anew when a source file changes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from flowli.world import World

__all__ = ["changed", "reloading", "snapshot", "source_root"]

_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist", "venv"})
_POLL_S = 0.5

Snapshot = dict[str, int]


def source_root(target: str) -> Path:
    """The folder to watch for ``--app module:attr``: that of its top package, or of its module."""
    top = target.partition(":")[0].partition(".")[0]
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    return Path(spec.origin).parent if spec is not None and spec.origin else Path(here)


def snapshot(root: Path) -> Snapshot:
    """When each Python file below ``root`` was last modified, in nanoseconds."""
    return dict(_files(str(root)))


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """The files that were added, removed or modified."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


async def reloading(command: Sequence[str], root: Path, world: World) -> int:
    """Run ``command`` until it ends by itself or this process is told to stop; start it anew after each change.

    A child that fails is started again at the next change.

    Returns:
        The exit code of the last child.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    child: asyncio.subprocess.Process | None = None

    def stop(number: signal.Signals) -> None:
        stopped.set()
        if child is not None and child.returncode is None:
            child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    while True:
        seen = snapshot(root)
        # a session of its own, so that Ctrl-C reaches the child once: from here
        child = await asyncio.create_subprocess_exec(*command, start_new_session=True, env=_environment())
        ended = asyncio.create_task(child.wait())
        files = await _change(root, seen, ended, stopped, world)
        if files:
            _say(f"{', '.join(one.removeprefix(f'{root}{os.sep}') for one in files[:3])} changed; starting anew")
            if not ended.done():
                child.send_signal(signal.SIGTERM)
        code = await ended
        if stopped.is_set() or not files:
            return code


async def _change(
    root: Path, seen: Snapshot, ended: asyncio.Task[int], stopped: asyncio.Event, world: World
) -> list[str]:
    """The files that changed; none if it is over: told to stop, or the child ended well."""
    told = False
    while not stopped.is_set():
        if ended.done():
            if ended.result() == 0:
                return []
            if not told:
                _say("waiting for a change of the source files")
                told = True
        await world.sleep(_POLL_S)
        files = changed(seen, snapshot(root))
        if files:
            return files
    return []


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "FLOWLI_DEV_RELOAD"}


def _files(folder: str) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name not in _SKIPPED:
                        yield from _files(entry.path)
                elif entry.name.endswith(".py"):
                    yield entry.path, entry.stat().st_mtime_ns
    except OSError:  # a folder or file that went while it was being read: the next look tells
        return


def _say(text: str) -> None:
    sys.stderr.write(f"flowli: {text}\n")
    sys.stderr.flush()
