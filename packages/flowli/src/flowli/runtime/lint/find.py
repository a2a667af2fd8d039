"""Which functions of a module are workflow code.

A function is a workflow if it is decorated with ``@registry.workflow``, given to ``registry.add``, or takes a
``Context`` as its first parameter. What a workflow calls by name in the same module runs in it as well. What it hands
to ``ctx.step`` does not: steps may do anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowli.runtime.lint.names import dotted

__all__ = ["Function", "calls_of", "is_step_call", "workflow_code"]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def workflow_code(tree: ast.Module, imported: dict[str, str]) -> list[Function]:
    """The functions of a module whose code runs inside workflows, in the order of the source."""
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    added = set(_added(tree))
    found: list[Function] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef) and (_is_workflow(node, imported) or node.name in added)
    ]
    seen = {id(node) for node in found}
    for node in found:  # grows while it is walked
        for name in _called_names(node):
            helper = functions.get(name)
            if helper is not None and id(helper) not in seen:
                seen.add(id(helper))
                found.append(helper)
    inside = {id(inner) for node in found for inner in ast.walk(node) if inner is not node}
    return sorted((node for node in found if id(node) not in inside), key=lambda node: node.lineno)


def is_step_call(call: ast.Call) -> bool:
    """Whether it is ``something.step(fn, ...)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "step"


def calls_of(function: Function) -> Iterator[ast.Call]:
    """The calls in a function."""
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _is_workflow(node: ast.AsyncFunctionDef, imported: dict[str, str]) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute) and target.attr == "workflow":
            return True
    arguments = [*node.args.posonlyargs, *node.args.args]
    arguments = [one for one in arguments if one.arg not in ("self", "cls")]
    if not arguments or arguments[0].annotation is None:
        return False
    annotation = arguments[0].annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2] == "Context"
    name = dotted(annotation, imported) or ""
    return name.rpartition(".")[2] == "Context" and "contextvars" not in name and "click" not in name


def _added(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add":
            owner = node.func.value
            owned = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if "registry" in owned.lower() and node.args and isinstance(node.args[0], ast.Name):
                yield node.args[0].id


def _called_names(function: Function) -> Iterator[str]:
    return (call.func.id for call in calls_of(function) if isinstance(call.func, ast.Name))
