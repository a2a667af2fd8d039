"""Timers: resumes that lie in the future."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.execution import DEFAULT_PRIORITY
from flowli.domain.ids import Eid, Fid, frame_hash
from flowli.timestamp import Timestamp

__all__ = ["Timer"]


@dataclass(frozen=True, slots=True)
class Timer:
    """Wakes an execution at ``due_at``, for the frame ``fid``."""

    due_at: Timestamp
    eid: Eid
    fid: Fid
    queue: str = "default"
    priority: int = DEFAULT_PRIORITY

    @property
    def timer_id(self) -> str:
        """Sorts by due time; one frame has one timer for one instant."""
        return f"{self.due_at}-{self.eid}-{frame_hash(self.fid)}"
