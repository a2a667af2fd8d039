"""Signatures of user functions with their hints resolved; looked at once per function."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from flowli.codec.hints import Hint, is_plain

__all__ = ["Callee", "callee", "optional", "return_hint"]


@dataclass(frozen=True, slots=True)
class Callee:
    """A function as callers see it.

    Attributes:
        name: for messages.
        signature: its parameters.
        hints: the annotation of each parameter, and of ``return``; ``Any`` where there is none that can be resolved.
        places: name and hint of each parameter, if all of them can be given by place; ``needed`` of them must be.
        plain: values in all these places are stored as they are.
    """

    name: str
    signature: inspect.Signature
    hints: Mapping[str, Hint]
    places: tuple[tuple[str, Hint], ...] | None = None
    needed: int = 0
    plain: bool = False

    def without_first(self) -> Callee:
        """The same without its first parameter, the context."""
        _, *rest = self.signature.parameters.values()
        return Callee(self.name, self.signature.replace(parameters=rest), self.hints)


_known: WeakKeyDictionary[Any, Callee] = WeakKeyDictionary()


def callee(fn: Callable[..., object]) -> Callee:
    """The signature and hints of a function, method, partial or callable object."""
    key = getattr(fn, "__func__", fn)
    try:
        found = _known.get(key)
    except TypeError:  # it takes no weak reference: a partial of a builtin, for instance
        return _look(fn)
    if found is None or key is not fn:
        found = _look(fn)
        if key is fn:
            _known[fn] = found
    return found


def return_hint(fn: Callable[..., object]) -> Hint:
    """The annotation under which the function's results are recorded; ``Any`` if it has none."""
    return callee(fn).hints.get("return", Any)


def _look(fn: Callable[..., object]) -> Callee:
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):  # a builtin that does not tell
        anything = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
        signature = inspect.Signature([*anything, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])
    plain: Any = fn
    while isinstance(plain, functools.partial):
        plain = plain.func
    plain = made = inspect.unwrap(plain)
    if not inspect.isroutine(plain):
        plain = getattr(plain, "__init__" if isinstance(plain, type) else "__call__")
    hints = _hints(plain)
    if isinstance(made, type):
        hints["return"] = made  # calling a class gives an instance of it
    parameters = signature.parameters.values()
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = None
    if all(parameter.kind in by_place for parameter in parameters):
        places = tuple((one.name, optional(one, hints.get(one.name, Any))) for one in parameters)
    needed = sum(parameter.default is inspect.Parameter.empty for parameter in parameters)
    plain_only = all(is_plain(hint) for _, hint in places or ())
    return Callee(getattr(fn, "__name__", type(fn).__name__), signature, hints, places, needed, plain_only)


def optional(parameter: inspect.Parameter, hint: Any) -> Hint:
    """The hint of a parameter: ``x: int = None`` takes None, as its author meant."""
    return hint | None if parameter.default is None else hint


def _hints(fn: Any) -> dict[str, Hint]:
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except Exception:  # some name exists for type checkers only
        return {name: _resolved(fn, hint) for name, hint in _annotations(fn).items()}


def _annotations(fn: Any) -> dict[str, Any]:
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(fn, format=annotationlib.Format.FORWARDREF)
    return dict(getattr(fn, "__annotations__", {}))


def _resolved(fn: Any, hint: Any) -> Hint:
    stub = type("stub", (), {"__annotations__": {"hint": hint}})
    try:
        return typing.get_type_hints(stub, getattr(fn, "__globals__", {}), include_extras=True)["hint"]
    except Exception:
        return Any
