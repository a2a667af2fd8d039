"""The interpreter's own reports of files, sockets, processes and threads: refused when workflow code causes them.

The hook cannot be taken out again; outside slices it returns at once.
"""

from __future__ import annotations

import sys
from typing import Any

from flowli.runtime.guard.callers import is_workflow_code
from flowli.runtime.guard.names import Reason, refusal
from flowli.runtime.guard.slices import by_thread, here

__all__ = ["install"]

_THREADS = ("_thread.start_new_thread", "_thread.start_joinable_thread")
_FOLDERS = ("listdir", "scandir", "mkdir", "rmdir", "remove", "rename", "link", "symlink")
_ATTRIBUTES = ("truncate", "chmod", "chown", "utime", "putenv", "unsetenv")
_PROCESSES = ("system", "exec", "fork", "forkpty", "posix_spawn", "spawn", "startfile")
_EVENTS = frozenset(
    {
        "open",
        "builtins.input",
        "glob.glob",
        "sqlite3.connect",
        "urllib.Request",
        "pty.spawn",
        *(f"os.{name}" for name in (*_FOLDERS, *_ATTRIBUTES, *_PROCESSES)),
        *_THREADS,
    }
)
_FAMILIES = ("socket.", "subprocess.", "shutil.", "tempfile.", "ftplib.", "imaplib.", "poplib.", "smtplib.", "http.")

_installed = False


def install() -> None:
    """Add the hook; a second call changes nothing."""
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not by_thread or not here():
        return
    if event not in _EVENTS and not event.startswith(_FAMILIES):
        return
    if not (event == "open" and _is_time_zone(args)) and is_workflow_code(sys._getframe(1)):
        if event in _THREADS:
            raise refusal("starting a thread", Reason.THREAD)
        raise refusal(_call(event, args), Reason.IO)


def _is_time_zone(args: tuple[Any, ...]) -> bool:
    """``zoneinfo`` opens its files from C, where no caller can be seen."""
    zones = getattr(sys.modules.get("zoneinfo"), "TZPATH", ())
    return bool(zones) and isinstance(args[0], str) and args[0].startswith(tuple(zones))


def _call(event: str, args: tuple[Any, ...]) -> str:
    if event == "open" and args and isinstance(args[0], str | bytes | int):
        return f"open({args[0]!r})"
    if event == "subprocess.Popen" and args:
        return f"subprocess.Popen({args[0]!r})"
    return event.replace(".__new__", ".socket") + "()"
