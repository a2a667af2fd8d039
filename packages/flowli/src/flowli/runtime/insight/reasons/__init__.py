"""The reasons, in the order in which they are tried: the first one that holds is the answer."""

from __future__ import annotations

from collections.abc import Callable

from flowli.runtime.insight.explanation import Explanation
from flowli.runtime.insight.reasons import ended, lost, operator, owned, queued
from flowli.runtime.insight.reasons.case import Case
from flowli.runtime.insight.reasons.names import Reason
from flowli.runtime.insight.reasons.waiting import waiting

__all__ = ["BESIDE", "RULES", "Case", "Reason", "Rule"]

Rule = Callable[[Case], Explanation | None]

RULES: tuple[Rule, ...] = (
    ended.erased,
    ended.completed,
    ended.failed,
    ended.cancelled,
    operator.dead_letter,
    operator.paused,
    operator.code_changed,
    operator.parked,
    owned.owner_lost,
    owned.cancelling,
    owned.running_step,
    owned.running_code,
    queued.queue_paused,
    queued.no_worker,
    queued.unknown_workflow,
    queued.queue_full,
    queued.task_taken,
    queued.waits_in_queue,
    lost.start_lost,
    lost.request_lost,
    lost.timer_due,
    lost.wakeup_lost,
    waiting,
    lost.unclear,
)
"""What is wrong comes before what is in order, and what is nearer to the next move before what is farther from it."""

BESIDE: tuple[Rule, ...] = (lost.no_sweeper, lost.anomaly)
"""What is told beside the answer."""
