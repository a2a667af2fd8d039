"""The names of the reasons. Each is the name of a page of the runbook."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Reason"]


class Reason(StrEnum):
    """Why an execution stands where it stands; the first one that holds is the answer of ``explain``."""

    ERASED = "erased"
    COMPLETED = "completed"
    RETRIES_EXHAUSTED = "retries_exhausted"
    STEP_FAILED = "step_failed"
    CHILD_FAILED = "child_failed"
    FAILED = "failed"
    TERMINATED = "terminated"
    CANCELLED = "cancelled"

    DEAD_LETTER = "dead_letter"
    PAUSED = "paused"
    CODE_CHANGED = "code_changed"
    PARKED = "parked"

    OWNER_LOST = "owner_lost"
    CANCELLING = "cancelling"
    RUNNING_STEP = "running_step"
    RUNNING_CODE = "running_code"

    QUEUE_PAUSED = "queue_paused"
    NO_WORKER = "no_worker"
    UNKNOWN_WORKFLOW = "unknown_workflow"
    QUEUE_FULL = "queue_full"
    TASK_TAKEN = "task_taken"
    START_WAITING = "start_waiting"
    REQUEST_WAITING = "request_waiting"
    RESULT_WAITING = "result_waiting"

    START_LOST = "start_lost"
    REQUEST_LOST = "request_lost"
    TIMER_DUE = "timer_due"
    WAKEUP_LOST = "wakeup_lost"

    WAITING_STEP = "waiting_step"
    WAITING_CHILD = "waiting_child"
    WAITING_LEASE = "waiting_lease"
    WAITING_UPDATE = "waiting_update"
    WAITING_MESSAGE = "waiting_message"
    WAITING_RETRY = "waiting_retry"
    DEFERRED = "deferred"
    SLEEPING = "sleeping"

    UNCLEAR = "unclear"

    NO_SWEEPER = "no_sweeper"
    ANOMALY = "anomaly"
