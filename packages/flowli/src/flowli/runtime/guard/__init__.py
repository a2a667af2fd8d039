"""The determinism guard: calls that a replay could not repeat are refused while workflow code runs, by name.

``slices`` knows which threads run workflow code, ``wrappers`` and ``audit`` stand in the way of functions and of the
interpreter's own events, ``calls`` watches the code of workflows from Python 3.12 on, ``watchdog`` reports code that
keeps the worker waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["watch"]


def watch(code: Callable[..., Any] | None) -> None:
    """Watch the calls of a workflow function and of what it calls in its own project."""
