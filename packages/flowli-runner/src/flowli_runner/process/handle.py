"""``Handle``: names a supervisor so that another process of its host can find it again, and nobody else believes it.

A pid alone says nothing: it is reused, and means another process on another host, after a boot, or in another
namespace. So a handle is believed only where host, boot and namespace are ours and the process has the same start.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass

from flowli.domain.data import Data
from flowli.world import ProcessIdentity, World
from flowli_runner.contracts.shape import ContractError, from_data, to_data

__all__ = ["Handle", "identify", "is_alive", "is_here", "kill_marked", "signal_to"]


_LOOKS = 100


@dataclass(frozen=True, slots=True)
class Handle:
    """Where a piece of work is under way.

    Attributes:
        attempt: names it.
        folder: in which its supervisor keeps the results.
        host: see ``ProcessIdentity``, for this and what follows.
    """

    attempt: str
    folder: str
    host: str
    pid: int
    boot_id: str
    pid_namespace: str
    started: str

    def to_data(self) -> Data:
        """The form that stands in a lease."""
        return to_data(self)

    @classmethod
    def of(cls, data: Data) -> Handle | None:
        """Read what stands in a lease; None if it is no handle."""
        try:
            return from_data(cls, data, "handle")
        except ContractError:
            return None


def identify(world: World, attempt: str, folder: str, pid: int) -> Handle:
    """The handle of a child of this process."""
    me = world.process()
    return Handle(attempt, folder, me.host, pid, me.boot_id, me.pid_namespace, _started(pid))


def is_here(world: World, handle: Handle) -> bool:
    """Whether the pid of the handle means a process of this host, since this boot, in this namespace."""
    me = world.process()
    here = (me.host, me.boot_id, me.pid_namespace)
    known = bool(me.boot_id and me.pid_namespace and handle.started)
    return known and here == (handle.host, handle.boot_id, handle.pid_namespace)


def is_alive(world: World, handle: Handle) -> bool:
    """Whether the process of the handle certainly runs here."""
    identity = ProcessIdentity(handle.host, handle.pid, handle.boot_id, handle.pid_namespace, handle.started)
    return is_here(world, handle) and not world.is_dead(identity)


def signal_to(world: World, handle: Handle, number: int) -> bool:
    """Send a signal to the process of the handle, and to no other; False if it does not run here."""
    if not is_here(world, handle):
        return False
    try:
        found = os.pidfd_open(handle.pid)
    except OSError:
        return False
    try:
        # looked at after it was opened: the descriptor stays with that process, whatever its pid is used for later
        if not is_alive(world, handle):
            return False
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(found, number)
        return True
    finally:
        os.close(found)


def kill_marked(attempt: str) -> int:
    """End what an agent left behind whose supervisor was killed; returns how many processes were found.

    It looks again until nothing is found: what was being forked while it looked is found then.
    """
    from flowli_runner.process.supervisor import marked

    seen: set[int] = set()
    for _ in range(_LOOKS):
        found = marked(attempt)
        if not found:
            break
        seen |= set(found)
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return len(seen)


def _started(pid: int) -> str:
    """Field 22 of /proc/PID/stat."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19] if len(fields) > 19 else ""
