"""What code inside a step can ask and say: ``step_info``, ``heartbeat``, ``check_cancelled``."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from flowli.domain.data import Data
from flowli.domain.errors import Cancelled, UsageError
from flowli.domain.ids import Eid, Fid

__all__ = ["StepInfo", "StepScope", "check_cancelled", "current_step", "heartbeat", "step_info"]


@dataclass(frozen=True, slots=True)
class StepInfo:
    """Where a step runs.

    Attributes:
        attempt: from 1.
        epoch: of the owner that runs it.
        idempotency_key: the same for every redelivery and every retry of this step, and of no other.
    """

    eid: Eid
    fid: Fid
    attempt: int
    epoch: int
    workflow: str

    @property
    def idempotency_key(self) -> str:
        """Give it to services that recognise repeated requests."""
        return f"{self.eid}/{self.fid}"


@dataclass(slots=True)
class StepScope:
    """One attempt under way: its info, the last progress it reported, and whether it should stop."""

    info: StepInfo
    beat: Callable[[Data], None]
    cancelled: threading.Event = field(default_factory=threading.Event)


current_step: contextvars.ContextVar[StepScope] = contextvars.ContextVar("flowli_step")


def _scope(name: str) -> StepScope:
    try:
        return current_step.get()
    except LookupError:
        raise UsageError(
            f"flowli.{name}() was called outside a step; only code that ctx.step runs can use it"
        ) from None


def step_info() -> StepInfo:
    """Which step of which execution this code runs in.

    Raises:
        UsageError: it runs in no step.
    """
    return _scope("step_info").info


def heartbeat(progress: Data = None) -> None:
    """Say that a long step is alive, and how far it is; raises ``Cancelled`` if it should stop.

    Args:
        progress: JSON-compatible; shown to operators.

    Raises:
        Cancelled: nobody waits for the step any more.
        UsageError: the caller runs in no step.
    """
    scope = _scope("heartbeat")
    scope.beat(progress)
    check_cancelled()


def check_cancelled() -> None:
    """Let a sync step stop early: raises when nobody waits for it any more.

    Raises:
        Cancelled: it timed out, was cancelled, or its worker lost the execution.
        UsageError: the caller runs in no step.
    """
    if _scope("check_cancelled").cancelled.is_set():
        raise Cancelled("nobody waits for this step any more")
