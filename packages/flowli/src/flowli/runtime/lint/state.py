"""Rules about state: what outlives the execution, and what has no order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowli.runtime.lint.calls import Problem, words

__all__ = ["state_problems"]

_CHANGING = words(
    "append extend insert remove pop popitem clear add discard update setdefault sort reverse appendleft popleft put "
    "put_nowait"
)
_SETS = frozenset({"set", "frozenset"})
_SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference"})
_ORDERED_USES = frozenset({"list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "reversed"})


def state_problems(function: ast.FunctionDef | ast.AsyncFunctionDef, shared: set[str]) -> Iterator[Problem]:
    """Changes of what outlives the execution, and walks over sets.

    Args:
        shared: the variables of the module.
    """
    shared = shared - _local_names(function)
    sets = set(_names_of_sets(function))
    for node in ast.walk(function):
        match node:
            case ast.Global(names):
                yield node, "FL011", f"`global {', '.join(names)}` in a workflow; {_KEEP}"
            case ast.Assign(targets):
                yield from (_changed(one, shared) for one in targets if _owner(one, shared))
            case ast.AugAssign(target) | ast.AnnAssign(target) if _owner(target, shared):
                yield _changed(target, shared)
            case ast.Delete(targets):
                yield from (_changed(one, shared) for one in targets if _owner(one, shared))
            case ast.Call(ast.Attribute(ast.Name(name), method)) if name in shared and method in _CHANGING:
                yield node, "FL011", f"{name}.{method}() changes a variable of the module; {_KEEP}"
            case ast.For(iter=walked) | ast.AsyncFor(iter=walked) | ast.comprehension(iter=walked):
                if _is_set(walked, sets):
                    yield walked, "FL013", _walk(walked)
            case ast.Call(ast.Name(name), [walked, *_]) if name in _ORDERED_USES and _is_set(walked, sets):
                yield walked, "FL013", _walk(walked)
            case ast.Call(ast.Attribute(ast.Name(name), "pop"), []) if name in sets:
                yield node, "FL013", f"{name}.pop() takes any element of a set; take one of `sorted({name})`"
            case ast.Starred(walked) if _is_set(walked, sets):
                yield walked, "FL013", _walk(walked)


_KEEP = "keep it in local variables, or in what steps return"


def _walk(walked: ast.expr) -> str:
    text = ast.unparse(walked)
    shown = text if len(text) <= 40 else "the set"
    return f"the order of {shown} differs between processes; walk over sorted(...), a list or a dict"


def _owner(target: ast.expr, shared: set[str]) -> str | None:
    """The shared variable that an assignment to ``target`` changes inside."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
        if isinstance(target, ast.Name) and target.id in shared:
            return target.id
    return None


def _changed(target: ast.expr, shared: set[str]) -> Problem:
    return target, "FL011", f"{ast.unparse(target)} changes a variable of the module; {_KEEP}"


def _local_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    found = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
    globals_ = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    stored = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return (found | stored) - globals_


def _names_of_sets(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Local variables that are only ever sets."""
    kinds: dict[str, set[bool]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    for name in (one for one in ast.walk(target) if isinstance(one, ast.Name)):
                        kinds.setdefault(name.id, set()).add(isinstance(target, ast.Name) and _is_set(value, set()))
            case ast.AnnAssign(ast.Name(name), annotation):
                kinds.setdefault(name, set()).add(ast.unparse(annotation).partition("[")[0] in _SETS)
            case ast.arg(name, annotation) if annotation is not None:
                kinds.setdefault(name, set()).add(ast.unparse(annotation).partition("[")[0] in _SETS)
    return (name for name, kind in kinds.items() if kind == {True})


def _is_set(value: ast.expr, sets: set[str]) -> bool:
    match value:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(name):
            return name in sets
        case ast.Call(ast.Name(name)):
            return name in _SETS
        case ast.Call(ast.Attribute(owner, method)):
            return method in _SET_METHODS and _is_set(owner, sets)
        case ast.BinOp(left, ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right):
            return _is_set(left, sets) or _is_set(right, sets)
    return False
