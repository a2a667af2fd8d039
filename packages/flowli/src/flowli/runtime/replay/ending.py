"""How an execution ends: what its function returned or raised, and what it left behind."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable
from typing import Any

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionCancelled, ExecutionCompleted, ExecutionFailed
from flowli.domain.errors import ErrorInfo, FlowliError, UsageError
from flowli.runtime.replay.calls import LiveFrame
from flowli.runtime.replay.loop import WorkflowLoop

__all__ = ["Drain", "Ending", "judge"]

Ending = ExecutionCompleted | ExecutionFailed | ExecutionCancelled


class Drain:
    """What is done once the function has ended: the tasks that it left alive are cancelled, once, and when they have
    ended its async generators are closed.

    Attributes:
        left_behind: the error of a function that returned while frames of it were still under way or were never
            awaited.
    """

    def __init__(self, loop: WorkflowLoop, context: contextvars.Context) -> None:
        self._loop = loop
        self._context = context
        self._begun = False
        self.left_behind: UsageError | None = None

    def go_on(self, root: asyncio.Task[Any], live: Iterable[LiveFrame], unstarted: Iterable[LiveFrame]) -> None:
        """Call it after each slice from the end of ``root`` on."""
        loop = self._loop
        if not self._begun:
            self._begun = True
            if not root.cancelled() and root.exception() is None:
                # a task that was cancelled before it began never awaits what it was given
                self.left_behind = _left_behind(live, () if loop.cancelled_tasks else unstarted)
            for task in list(loop.tasks.values()):
                task.cancel()
        if loop.idle and not loop.tasks:
            loop.close_generators(self._context)


def _left_behind(live: Iterable[LiveFrame], unstarted: Iterable[LiveFrame]) -> UsageError | None:
    for frame in live:
        if not frame.ended:
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
