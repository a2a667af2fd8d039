"""``EngineConfig``: the settings of an engine, checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

from flowli.domain.errors import UsageError

__all__ = ["EngineConfig", "KeptLogs"]

_DAY = 86_400.0

KeptLogs: TypeAlias = Literal["none", "failed", "all"]
"""Whose logs are written as evidence: those of no attempt, of the failed ones, of all."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings of one engine. All times are in seconds; processes of one fleet may differ in any of them.

    Attributes:
        exec_ttl_s: a worker that has not renewed an execution's lease for so long is taken for dead.
        task_ttl_s: the same for the lease of a task. Any order of the two is safe.
        hold_s: a wait that ends within this time keeps the execution in the worker instead of suspending it.
        flush_s: an entry that nothing else forces out is made durable after this time, so that operators see it.
        grace_s: how long a drain, or an owner that was asked to end, may take.
        max_value_bytes: largest value that is recorded inline.
        max_in_flight: steps, children and sends of one execution under way at once; further ones wait their turn.
        attempt_logs: whose prints and log records are kept as evidence: of ``none``, of the ``failed`` attempts, or of
            ``all``; one PUT for each attempt that said something.
        attempt_log_bytes: size of one such log; the beginning and the end are kept of one that is longer.
        step_threads: threads for the sync steps of one worker.
        warm_limit: suspended executions that one worker keeps in memory; only a cache.
        poll_s: how often an idle worker looks for work; None leaves it to the backend.
        audit_period_s: each waiting execution is looked at once in this time by the sweepers.
        archive_ttl_s: how long archives are kept.
        key_ttl_s: how long a dispatch key, and the receipts of keyed commands, outlive the archive of their execution;
            receipts of commands on queues outlive the command.
        dead_ttl_s: how long tasks that were set aside are kept.
        message_ttl_s: how long messages on global channels are kept.
        control_ttl_s: how long every entry of the control log is kept; older ones only if they still say something.
        retire_grace_s: how long deleted things are kept after their archive or boundary is durable.

    Raises:
        UsageError: a setting that cannot work.
    """

    exec_ttl_s: float = 30.0
    task_ttl_s: float = 30.0
    hold_s: float = 2.0
    flush_s: float = 0.2
    grace_s: float = 30.0
    max_value_bytes: int = 262_144
    max_in_flight: int = 100
    attempt_logs: KeptLogs = "failed"
    attempt_log_bytes: int = 65_536
    step_threads: int = 32
    warm_limit: int = 1000
    poll_s: float | None = None
    audit_period_s: float = 3600.0
    archive_ttl_s: float = 30 * _DAY
    key_ttl_s: float = 90 * _DAY
    dead_ttl_s: float = 30 * _DAY
    message_ttl_s: float = 30 * _DAY
    control_ttl_s: float = 30 * _DAY
    retire_grace_s: float = _DAY

    def __post_init__(self) -> None:
        if self.attempt_logs not in get_args(KeptLogs):
            raise UsageError(f"attempt_logs is {self.attempt_logs!r}; it must be 'none', 'failed' or 'all'")
        for field in fields(self):
            if field.name == "attempt_logs":
                continue
            value = getattr(self, field.name)
            least = 0 if field.name in ("hold_s", "flush_s", "grace_s", "warm_limit", "retire_grace_s") else 1e-9
            if value is not None and not value >= least:
                raise UsageError(f"{field.name} is {value}; it must be {'at least 0' if least == 0 else 'positive'}")
