"""``lint_module`` and ``lint_source``: from the name of a module, a file or a folder to its findings."""

from __future__ import annotations

import ast
import importlib.machinery
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from flowli.domain.errors import UsageError
from flowli.runtime.lint.calls import Problem, call_problems
from flowli.runtime.lint.find import Function, calls_of, is_step_call, workflow_code
from flowli.runtime.lint.findings import Finding
from flowli.runtime.lint.frames import frame_problems
from flowli.runtime.lint.names import imports_of, module_level_names
from flowli.runtime.lint.state import state_problems

__all__ = ["lint_module", "lint_source"]

_IGNORED = re.compile(r"#\s*noqa:\s*([A-Z0-9, ]+)")


def lint_module(target: str) -> list[Finding]:
    """Look at the workflows of a module. It is read and never imported.

    Args:
        target: ``orders``, ``shop.orders``, a file, or a folder or package with all that it holds.

    Returns:
        What was found, by file and line. A line that ends in ``# noqa: FL001`` is passed over for that code.

    Raises:
        UsageError: there is no such module, file or folder.
    """
    found: list[Finding] = []
    for path in _files(target):
        found += lint_source(path.read_text(encoding="utf-8", errors="replace"), _shown(path))
    return sorted(found)


def lint_source(source: str, path: str = "<source>") -> list[Finding]:
    """Look at the workflows of one source text.

    Args:
        path: how findings name it.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        return [Finding(path, line, column, "FL000", f"cannot be read as Python: {getattr(error, 'msg', error)}")]
    imported, shared, lines = imports_of(tree), module_level_names(tree), source.splitlines()
    found: set[Finding] = set()
    for function in workflow_code(tree, imported):
        steps = _steps_of(function)
        for node, code, message in _problems(function, imported, shared):
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
            in_a_step = any(step.lineno <= line <= (step.end_lineno or line) for step in steps)
            if not in_a_step and not _is_ignored(lines, line, code):
                found.add(Finding(path, line, column, code, message, function.name))
    return sorted(found)


def _problems(function: Function, imported: dict[str, str], shared: set[str]) -> Iterator[Problem]:
    yield from call_problems(function, imported)
    yield from frame_problems(function)
    yield from state_problems(function, shared)


def _steps_of(function: Function) -> list[Function | ast.Lambda]:
    """Functions written inside a workflow and handed to ``ctx.step``: they run outside it."""
    handed = [call.args[0] for call in calls_of(function) if is_step_call(call) and call.args]
    names = {one.id for one in handed if isinstance(one, ast.Name)}
    called = {call.func.id for call in calls_of(function) if isinstance(call.func, ast.Name)}
    inner = [node for node in ast.walk(function) if isinstance(node, Function) and node is not function]
    return [
        *(node for node in inner if node.name in names - called),
        *(one for one in handed if isinstance(one, ast.Lambda)),
    ]


def _is_ignored(lines: list[str], line: int, code: str) -> bool:
    found = _IGNORED.search(lines[line - 1]) if line <= len(lines) else None
    return found is not None and code in re.split(r"[, ]+", found.group(1))


def _files(target: str) -> Iterable[Path]:
    path = Path(target)
    if path.is_file():
        return [path]
    if not path.is_dir():
        path = _located(target)
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _located(name: str) -> Path:
    """The file or folder of a module, found as an import would find it, and not imported."""
    where: list[str] | None = [str(Path.cwd()), *sys.path]
    spec = None
    if all(part.isidentifier() for part in name.split(".")):
        for part in name.split("."):
            spec = importlib.machinery.PathFinder.find_spec(part, where)
            where = list(spec.submodule_search_locations or ()) if spec is not None else None
            if spec is None:
                break
    if spec is None or not (where or (spec.origin and spec.origin.endswith(".py"))):
        raise UsageError(f"there is no module, file or folder {name!r} with Python source; give one, such as app.py")
    return Path(where[0]) if where else Path(str(spec.origin))


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
