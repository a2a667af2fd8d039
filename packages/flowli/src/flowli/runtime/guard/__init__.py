"""The determinism guard: calls that a replay could not repeat are refused while workflow code runs, by name.

``slices`` knows which threads run workflow code, ``wrappers`` and ``audit`` stand in the way of functions and of the
interpreter's own events, ``calls`` watches the code of workflows from Python 3.12 on, ``watchdog`` reports code that
keeps the worker waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["watch"]


def watch(code: Callable[..., Any] | None = None) -> None:
    """Put the guard up for this process, if it is not up yet, and watch a workflow function.

    Args:
        code: the function; without it only what can be replaced is guarded.
    """
    from flowli.runtime.guard import audit, calls, wrappers

    wrappers.install()
    audit.install()
    if code is not None:
        calls.watch(code)
