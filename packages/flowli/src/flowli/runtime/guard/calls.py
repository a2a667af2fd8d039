"""From Python 3.12 on, the calls that workflow code itself makes are looked at (``sys.monitoring``): those of
``datetime.now`` and of functions that were imported by name, which cannot be replaced.

Watched are the code of a workflow function and of what it refers to by name in its own project. Calls made outside
slices switch themselves off at their place in the code, so that steps in the same modules run at full speed.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakSet

from flowli.runtime.guard import wrappers
from flowli.runtime.guard.names import CLOCK_WITHOUT, FORBIDDEN, Reason, refusal
from flowli.runtime.guard.slices import by_thread, here

__all__ = ["watch"]

_TOOL_IDS = (4, 3)
_MOST = 2_000
_CLOCK_METHODS = ("now", "utcnow", "today")

_monitoring: Any = getattr(sys, "monitoring", None)
_tool: int | None = None
_known: WeakSet[Any] = WeakSet()
_names: dict[Any, str] = {}
_watched: WeakSet[CodeType] = WeakSet()


def watch(fn: Callable[..., Any]) -> None:
    """Look at the calls of ``fn`` and of what it refers to. Where the interpreter cannot do it, nothing happens."""
    tool = _use_tool()
    if tool is None or fn in _known:
        return
    _known.add(fn)
    for code in _reachable(fn):
        if code not in _watched:
            _watched.add(code)
            _monitoring.set_local_events(tool, code, _monitoring.events.CALL)


def _use_tool() -> int | None:
    """The number under which the interpreter knows this tool; None if debuggers and profilers have taken all."""
    global _tool
    if _tool is None and _monitoring is not None:
        free = [one for one in _TOOL_IDS if _monitoring.get_tool(one) is None]
        if free:
            _tool = free[0]
            _monitoring.use_tool_id(_tool, "flowli")
            _monitoring.register_callback(_tool, _monitoring.events.CALL, _called)
            _learn_names()
    return _tool


def _learn_names() -> None:
    for name in FORBIDDEN:
        module, _, attribute = name.rpartition(".")
        if name in wrappers.originals:
            _names[wrappers.originals[name][2]] = name
        elif not module.startswith("datetime."):
            found = getattr(import_module(module), attribute, None)
            if found is not None:
                _names[found] = name
    _names[import_module("random").Random] = "random.Random"


def _called(code: CodeType, offset: int, callee: Any, arg0: Any) -> Any:
    name = _name(callee)
    if by_thread and here():
        if name is not None and not (name in _NEED_NO_ARGUMENT and arg0 is not _monitoring.MISSING):
            reason = Reason.CHANCE if name == "random.Random" else FORBIDDEN[name]
            raise refusal(f"{name}()", reason)
        return None
    return _monitoring.DISABLE if name is None else None


_NEED_NO_ARGUMENT = frozenset({"random.Random", *CLOCK_WITHOUT})


def _name(callee: Any) -> str | None:
    """The full name of a forbidden function."""
    if isinstance(callee, BuiltinFunctionType):
        owner = callee.__self__
        if isinstance(owner, type) and issubclass(owner, datetime.date) and callee.__name__ in _CLOCK_METHODS:
            base = "datetime.datetime" if issubclass(owner, datetime.datetime) else "datetime.date"
            return f"{base}.{callee.__name__}"
        return _names.get(callee)
    if isinstance(callee, FunctionType | MethodType | type):
        return _names.get(callee)
    return None


def _reachable(fn: Any) -> Iterator[CodeType]:
    """The code of ``fn`` and of the functions and classes of its project that it names, and so on."""
    waiting, seen = [fn], set[int]()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        one = getattr(one, "__wrapped__", getattr(one, "__func__", one))
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, type):
            waiting += [member for member in vars(one).values() if isinstance(member, FunctionType)]
        elif isinstance(one, FunctionType) and _of_the_project(one.__code__):
            for code in _with_inner(one.__code__):
                yield code
                waiting += _named(code, one)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _named(code: CodeType, fn: FunctionType) -> Iterator[Any]:
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False))
    for cell in cells.values():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet bound
            continue
    for name in code.co_names:
        found = fn.__globals__.get(name)
        if isinstance(found, FunctionType | type):
            yield found
        elif isinstance(found, ModuleType) and _of_the_project_file(getattr(found, "__file__", None)):
            yield from (getattr(found, inner, None) for inner in code.co_names)


def _of_the_project(code: CodeType) -> bool:
    return _of_the_project_file(code.co_filename)


def _of_the_project_file(file: str | None) -> bool:
    return file is not None and "site-packages" not in file and not file.startswith((_LIBRARY, _FLOWLI, "<frozen"))


_LIBRARY = str(datetime.__file__).rpartition("datetime")[0]
_FLOWLI = __file__.partition("runtime")[0]
