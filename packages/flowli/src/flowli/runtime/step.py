"""What code inside a step can ask and say: ``step_info``, ``heartbeat``, ``check_cancelled``."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import Cancelled, PayloadTooLarge, UsageError
from flowli.domain.ids import Eid, Fid
from flowli.evidence import AttemptLog

__all__ = ["StepInfo", "StepScope", "check_cancelled", "current_step", "heartbeat", "step_info"]

_PROGRESS_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class StepInfo:
    """Where a step runs.

    Attributes:
        attempt: from 1.
        epoch: of the owner that runs it.
        progress: what the step said last by ``heartbeat`` before this attempt, as far as it is known: a worker that
            dies within a third of a lease's ttl after it may take it along. A place to go on from, never to rely on.
        idempotency_key: the same for every redelivery and every retry of this step, and of no other.
    """

    eid: Eid
    fid: Fid
    attempt: int
    epoch: int
    workflow: str
    progress: Data = None

    @property
    def idempotency_key(self) -> str:
        """Give it to services that recognise repeated requests."""
        return f"{self.eid}/{self.fid}"


@dataclass(slots=True)
class StepScope:
    """One attempt under way.

    Attributes:
        said: takes the progress that it reports.
        log: what it prints and logs; None if that is not kept.
        cancelled: whether it should stop.
        beats: how often it has said that it is alive.
        trace: the trace context of the execution.
        detached: it runs in another worker than the workflow.
    """

    info: StepInfo
    said: Callable[[Data], None]
    log: AttemptLog | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    beats: int = 0
    trace: str = ""
    detached: bool = False


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


def heartbeat(progress: object = None) -> None:
    """Say that a long step is alive, and how far it is; raises ``Cancelled`` if it should stop.

    It makes no request: the last progress goes along with the next renewal of the lease, a third of its ttl later at
    most. Operators see it by ``engine.progress``, the next attempt by ``step_info().progress``.

    Args:
        progress: JSON-compatible, up to 4,096 bytes. None says only that the step is alive.

    Raises:
        Cancelled: nobody waits for the step any more.
        InvalidValue: the progress cannot be recorded.
        PayloadTooLarge: it is over the limit.
        UsageError: the caller runs in no step.
    """
    scope = _scope("heartbeat")
    scope.beats += 1
    if progress is not None:
        data = codec.to_data(progress, path="progress")
        size = len(codec.canonical(data))
        if size > _PROGRESS_BYTES:
            raise PayloadTooLarge(
                f"the progress has {size:,} bytes and the limit is {_PROGRESS_BYTES:,}; keep more than a position or a "
                "count as evidence or in a store of its own"
            )
        scope.said(data)
    check_cancelled()


def check_cancelled() -> None:
    """Let a sync step stop early: raises when nobody waits for it any more.

    Raises:
        Cancelled: it timed out, was cancelled, or its worker lost the execution.
        UsageError: the caller runs in no step.
    """
    if _scope("check_cancelled").cancelled.is_set():
        raise Cancelled("nobody waits for this step any more")
