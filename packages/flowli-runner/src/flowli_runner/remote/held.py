"""``HeldTokens``: what this host holds through a service, written down so that a runner that starts can let go of it.

A service names no process behind a lease, so that what a killed runner held would be free only when its time is over.
A token works for its caller from any process: the next runner of the host finds those of dead processes and gives them
back at once. Those of living processes are left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from flowli.world import ProcessIdentity, World

__all__ = ["HeldToken", "HeldTokens"]


@dataclass(frozen=True, slots=True)
class HeldToken:
    """A token.

    Attributes:
        kind: ``task``, ``scope`` or ``state``.
        name: of the task, or of the scope.
        token: as the service gave it.
    """

    kind: str
    name: str
    token: str


class HeldTokens:
    """Tokens in files that only this user can read.

    Args:
        folder: on a disk of this host.
    """

    def __init__(self, folder: Path, world: World) -> None:
        self._folder, self._world = folder, world

    def keep(self, held: HeldToken) -> None:
        """Write a token down; an earlier one of the same kind and name is replaced."""
        process = asdict(self._world.process())
        path = self._path(held.kind, held.name)
        new = path.with_suffix(f".{process['pid']}.new")
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({**asdict(held), "process": process}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)

    def find(self, kind: str, name: str) -> str:
        """The token of that kind and name; "" if there is none."""
        found = self._read(self._path(kind, name))
        return "" if found is None else found[0].token

    def forget(self, kind: str, name: str) -> None:
        """Remove it; no error if there is none."""
        self._path(kind, name).unlink(missing_ok=True)

    def of_the_dead(self) -> Iterator[HeldToken]:
        """The tokens of processes that have certainly ended."""
        for path in sorted(self._folder.glob("*.json")):
            found = self._read(path)
            if found is not None and self._world.is_dead(found[1]):
                yield found[0]

    def _path(self, kind: str, name: str) -> Path:
        return self._folder / f"{kind}-{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> tuple[HeldToken, ProcessIdentity] | None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return HeldToken(found["kind"], found["name"], found["token"]), ProcessIdentity(**found["process"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
