"""What executions did and what they wait on, in the words of a failed assertion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from flowli.domain.execution import ExecutionStatus
from flowli.domain.frames import FrameKind
from flowli.domain.memo import Frame
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.runtime.engine import ExecutionView

__all__ = ["outline", "waiting"]


def outline(frames: Mapping[str, Frame]) -> list[str]:
    """One line a frame, without the root: kind, name, status, and the attempt if it is not the first."""
    return [_line(frame) for frame in frames.values() if frame.kind is not FrameKind.ROOT]


def waiting(view: ExecutionView) -> str:
    """What an execution waits on."""
    if view.status is ExecutionStatus.PENDING:
        return "it has not begun; call settle() or run_until_idle()"
    if not view.waits_on:
        return f"it is {view.status}"
    return f"it waits on {' and '.join(_on(on) for on in view.waits_on)}"


def _line(frame: Frame) -> str:
    again = f" (attempt {frame.attempt})" if frame.attempt > 1 else ""
    return f"{frame.kind} {frame.name} {frame.status}{again}"


def _on(on: On) -> str:
    match on:
        case OnChannel(channel):
            return f"channel {channel.rpartition('.')[2]!r}"
        case OnTimer(due_at):
            return f"the instant {due_at}"
        case OnChild(eid):
            return f"child {eid}"
        case OnStep(fid, attempt):
            return f"step {fid}, attempt {attempt}"
        case OnOperator(cause, reason):
            return f"the operator ({cause}: {reason})"
        case _:
            assert_never(on)
