"""Rules about frames: what was made and is never awaited."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowli.runtime.lint.calls import Problem, words

__all__ = ["frame_problems"]

_FRAMES = words(
    "step child sleep sleep_until receive send announce enqueue withdraw claim set_attributes gather as_completed"
)


def frame_problems(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Problem]:
    """Frames of the context of ``function`` that nobody awaits."""
    contexts = set(_contexts(function))
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(function):
        match node:
            case ast.Expr(ast.Call() as call) if _is_frame(call, contexts):
                yield call, "FL010", f"{_shown(call)} is made and never awaited; write `await` before it"
            case ast.Assign([ast.Name(name)], ast.Call() as call) if _is_frame(call, contexts) and name not in used:
                yield call, "FL010", f"{_shown(call)} is kept as `{name}` and never awaited; write `await {name}`"


def _contexts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            annotation = ast.unparse(argument.annotation).strip("'\"") if argument.annotation else ""
            if annotation.rpartition(".")[2] == "Context" or argument.arg == "ctx":
                yield argument.arg


def _is_frame(call: ast.Call, contexts: set[str]) -> bool:
    match call.func:
        case ast.Attribute(ast.Name(owner), method):
            return owner in contexts and method in _FRAMES
    return False


def _shown(call: ast.Call) -> str:
    text = ast.unparse(call)
    return text if len(text) <= 60 else f"{ast.unparse(call.func)}(...)"
