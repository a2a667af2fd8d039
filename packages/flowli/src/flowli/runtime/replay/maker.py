"""``FrameMaker``: frames as the code makes them, numbered at the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowli.domain.data import Data
from flowli.domain.errors import DuplicateFrameError
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid, frame_id
from flowli.runtime.replay.calls import LiveFrame

__all__ = ["FrameMaker"]


class FrameMaker:
    """Counts the calls of each name under each parent.

    Attributes:
        unstarted: frames that were made and not yet awaited, in order.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Fid, str], int] = {}
        self._keyed: set[Fid] = set()
        self.unstarted: dict[Fid, LiveFrame] = {}

    def make(
        self,
        parent: Fid,
        kind: FrameKind,
        name: str,
        digest: str,
        action: Any,
        decode: Callable[[Data], Any],
        *,
        key: str | None = None,
        metadata: dict[str, Data] | None = None,
    ) -> LiveFrame:
        """A new frame under ``parent``.

        Raises:
            DuplicateFrameError: its key was used before under this parent.
        """
        if key is None:
            fid = frame_id(parent, name, count=self.count(parent, name))
        else:
            fid = frame_id(parent, name, key=key)
            if fid in self._keyed:
                raise DuplicateFrameError(
                    f"frame key '{key}' is used twice for '{name}' under {parent}; give each its own"
                )
            self._keyed.add(fid)
        frame = LiveFrame(fid, kind, name, digest, action, decode, metadata or {})
        self.unstarted[fid] = frame
        return frame

    def count(self, parent: Fid, name: str) -> int:
        """The number of this call of ``name`` under ``parent``, from 1."""
        number = self._counts[parent, name] = self._counts.get((parent, name), 0) + 1
        return number
