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
    """Where a frame stands.

    Attributes:
        ended: whether the frame has its outcome.
    """

    ended: bool

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    def __init__(self, status: str) -> None:
        self.ended = status in ("completed", "failed", "cancelled")
