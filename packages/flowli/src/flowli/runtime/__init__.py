"""The engine and its processes, standing on the ports alone.

``engine`` is what applications hold; ``worker`` runs executions, ``owner`` is one ownership of one execution,
``replay`` the deterministic loop inside it; ``sweeper``, ``retention`` and ``consumer`` are the other processes.
Each procedure that writes in a certain order is one file of ``protocols``.
"""

from __future__ import annotations

from flowli.runtime.config import EngineConfig
from flowli.runtime.consumer import Consumer, Handler
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine, ExecutionView, StartResult
from flowli.runtime.observe.subscription import Subscription
from flowli.runtime.registry import Registry
from flowli.runtime.retention import Retention
from flowli.runtime.step import check_cancelled, heartbeat, step_info
from flowli.runtime.sweeper import Sweeper
from flowli.runtime.worker.worker import Worker

__all__ = [
    "Consumer",
    "Context",
    "Engine",
    "EngineConfig",
    "ExecutionView",
    "Handler",
    "Registry",
    "Retention",
    "StartResult",
    "Subscription",
    "Sweeper",
    "Worker",
    "check_cancelled",
    "heartbeat",
    "step_info",
]
