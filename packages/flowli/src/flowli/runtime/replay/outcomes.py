"""What code sees of an outcome: a value of the right type, or an error that is equal on every replay."""

from __future__ import annotations

import copy

from flowli.domain.entries import FrameCompleted, FrameFailed
from flowli.domain.errors import ChildFailed, FlowliError, StepFailed
from flowli.runtime.replay.calls import LiveFrame, StartChild

__all__ = ["resolve"]

_CHANGEABLE = (dict, list)


def resolve(frame: LiveFrame, body: FrameCompleted | FrameFailed) -> FlowliError | None:
    """Give the outcome to who awaits ``frame``; the error if its value no longer fits the type hint."""
    future = frame.future
    if future is None or future.done():
        return None
    if isinstance(body, FrameFailed):
        future.set_exception(_error(frame, body))
        return None
    try:
        value = frame.decode(body.value)
    except FlowliError as error:
        return error
    # the entry is not yet written perhaps: code that changes the value must not change the entry
    future.set_result(copy.deepcopy(value) if value is body.value and isinstance(value, _CHANGEABLE) else value)
    return None


def _error(frame: LiveFrame, body: FrameFailed) -> FlowliError:
    if isinstance(frame.action, StartChild):
        return ChildFailed(frame.fid, frame.action.eid, body.error)
    return StepFailed(frame.fid, body.attempt, body.error)
