"""Whose call it is: the workflow's own, or one that the interpreter, a logger or flowli makes on the way."""

from __future__ import annotations

import sys
from types import FrameType

__all__ = ["is_project_code", "is_workflow_code"]

_LOOP = "flowli.runtime.replay.loop"
_SLICES = ("run_ready", "drop")
_IMPORTING = frozenset({"importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "zoneinfo"})
_ON_THE_WAY = frozenset(
    {
        "flowli",
        "logging",
        "structlog",
        "warnings",
        "linecache",
        "tokenize",
        "traceback",
        "tracemalloc",
        "weakref",
        "attr",
        "attrs",
        "cattr",
        "cattrs",
        "pdb",
        "bdb",
        "_pytest",
    }
)


def is_project_code(frame: FrameType) -> bool:
    """Whether the code of ``frame`` belongs neither to the standard library, nor to an installed one, nor to flowli."""
    top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return not (top == "flowli" or top in sys.stdlib_module_names or "site-packages" in frame.f_code.co_filename)


def is_workflow_code(frame: FrameType | None) -> bool:
    """Whether the call that ``frame`` makes is made by workflow code.

    Libraries act for who calls them. Not counted are: everything that happens while a module is imported, what loggers
    and tools for tracebacks do, what flowli itself does for the workflow, and finalizers, which the garbage collector
    may run at any place.
    """
    ours = True
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module == _LOOP and frame.f_code.co_name in _SLICES:
            break
        top = module.partition(".")[0]
        if top in _IMPORTING or frame.f_code.co_name == "__del__":
            return False
        if ours:
            if top in _ON_THE_WAY:
                return False
            ours = not is_project_code(frame)
        frame = frame.f_back
    return True
