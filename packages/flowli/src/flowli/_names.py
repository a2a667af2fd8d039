"""The public names of ``flowli``: where each one lives. ``flowli/__init__.pyi`` says the same to type checkers."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PUBLIC"]

PUBLIC: Mapping[str, str] = {
    "Engine": "flowli.runtime",
    "EngineConfig": "flowli.runtime",
    "Registry": "flowli.runtime",
    "Context": "flowli.runtime",
    "Worker": "flowli.runtime",
    "Sweeper": "flowli.runtime",
    "Retention": "flowli.runtime",
    "Consumer": "flowli.runtime",
    "Handler": "flowli.runtime",
    "Subscription": "flowli.runtime",
    "Explanation": "flowli.runtime.insight",
    "Inspection": "flowli.runtime.insight",
    "Moves": "flowli.runtime.insight",
    "NextAction": "flowli.runtime.insight",
    "Pointers": "flowli.runtime.insight",
    "step_info": "flowli.runtime",
    "heartbeat": "flowli.runtime",
    "check_cancelled": "flowli.runtime",
    "connect": "flowli.client",
    "Site": "flowli.domain.provenance",
    "Execution": "flowli.domain.execution",
    "ExecutionStatus": "flowli.domain.execution",
    "RetryPolicy": "flowli.domain.retry",
    "Retry": "flowli.domain.errors",
    "Defer": "flowli.domain.errors",
    "NonRetryableError": "flowli.domain.errors",
    "StepFailed": "flowli.domain.errors",
    "Cancelled": "flowli.domain.errors",
    "Timestamp": "flowli.timestamp",
    "CairnBackend": "flowli.adapters.cairndb",
    "MemoryBackend": "flowli.adapters.memory",
    "WorkflowProjection": "flowli.adapters.projection",
    "ValueCodec": "flowli.adapters.coded",
    "Encryption": "flowli.adapters.coded",
    "KeyRing": "flowli.adapters.coded",
}
