"""The engine, its verbs split by concern: starting, results, signals, updates, what is shown, operating, queues,
forking, erasing, roles, reading.
"""

from __future__ import annotations

from flowli.runtime.engine.engine import Engine
from flowli.runtime.engine.reading import ExecutionView
from flowli.runtime.engine.roles import Role
from flowli.runtime.engine.showing import Shown, StreamPage
from flowli.runtime.engine.starting import StartResult
from flowli.runtime.progress import Progress

__all__ = ["Engine", "ExecutionView", "Progress", "Role", "Shown", "StartResult", "StreamPage"]
