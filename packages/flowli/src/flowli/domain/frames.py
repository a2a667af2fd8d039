"""Frames: the nodes of a workflow's stack."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["FrameKind", "FrameStatus"]


class FrameKind(StrEnum):
    """What a frame does."""

    ROOT = "root"
    STEP = "step"
    CHILD = "child"
    RECEIVE = "receive"
    SLEEP = "sleep"
    EFFECT = "effect"


class FrameStatus(StrEnum):
    """Where a frame stands."""

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether the frame has its outcome."""
        return self in (FrameStatus.COMPLETED, FrameStatus.FAILED, FrameStatus.CANCELLED)
