"""How an execution ends: what its function returned or raised, and what it left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionCancelled, ExecutionCompleted, ExecutionFailed
from flowli.domain.errors import ErrorInfo, FlowliError, UsageError
from flowli.domain.frames import FrameKind
from flowli.runtime.replay.calls import LiveFrame

__all__ = ["Ending", "judge", "left_behind"]

Ending = ExecutionCompleted | ExecutionFailed | ExecutionCancelled

_HAVE_EFFECTS = (FrameKind.STEP, FrameKind.CHILD, FrameKind.EFFECT)


def left_behind(live: Iterable[LiveFrame], unstarted: Iterable[LiveFrame]) -> UsageError | None:
    """The error of a function that returned while frames of it were still under way, or were never awaited."""
    for frame in live:
        if frame.kind in _HAVE_EFFECTS and not frame.ended:
            return UsageError(
                f"the workflow returned while {frame.describe()} was still under way; await it or cancel its task"
            )
    for frame in unstarted:
        return UsageError(f"{frame.describe()} was made but never awaited; write `await` before it")
    return None


def judge(
    root: asyncio.Task[Any], behind: UsageError | None, cancel_reason: str | None, encode: Callable[[Any], Data]
) -> Ending:
    """The terminal entry of a function that has ended.

    Args:
        behind: what it left behind although it returned.
        cancel_reason: of a cancel that was delivered; None if there was none.
        encode: turns the result into its recorded form.
    """
    if root.cancelled():
        if cancel_reason is not None:
            return ExecutionCancelled(cancel_reason)
        return ExecutionFailed(ErrorInfo("asyncio.CancelledError", "the workflow cancelled itself"))
    error = root.exception() or behind
    if error is None:
        try:
            return ExecutionCompleted(encode(root.result()))
        except FlowliError as refused:
            error = refused
    return ExecutionFailed(codec.error_info(error))
