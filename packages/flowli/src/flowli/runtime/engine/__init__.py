"""The engine, its verbs split by concern: starting, results, signals, operating, reading."""

from __future__ import annotations

from flowli.runtime.engine.engine import Engine
from flowli.runtime.engine.reading import ExecutionView
from flowli.runtime.engine.starting import StartResult

__all__ = ["Engine", "ExecutionView", "StartResult"]
