"""Hooks for dataclasses and attrs classes: those that cattrs generates, with the path of what they refuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from flowli.codec.containers import expect
from flowli.codec.plain import Refused

__all__ = ["register"]


def register(made: Converter) -> None:
    """Teach the classes to a converter."""
    made.register_unstructure_hook_factory(_is_class, lambda hint: _dump(made, hint))
    made.register_structure_hook_factory(_is_class, lambda hint: _load(made, hint))


def _is_class(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    return isinstance(origin, type) and (dataclasses.is_dataclass(origin) or attrs.has(origin))


def _dump(made: Converter, hint: Any) -> Callable[[Any], Any]:
    """Only when the generated function fails are the fields tried one by one, to find the path."""
    cls: Any = get_origin(hint) or hint
    generated = make_dict_unstructure_fn(hint, made)

    def run(value: Any) -> Any:
        expect(value, cls, hint)
        try:
            return generated(value)
        except Refused as refused:
            _locate(made, value, hint, refused)
            raise

    return run


def _load(made: Converter, hint: Any) -> Callable[[Any, Any], Any]:
    generated: Any = make_dict_structure_fn(hint, made)

    def run(data: Any, _: Any) -> Any:
        expect(data, dict, hint)
        return generated(data, hint)

    return run


def _locate(made: Converter, value: Any, hint: Any, refused: Refused) -> None:
    for name, field_hint in _fields(hint).items():
        try:
            made.unstructure(getattr(value, name), unstructure_as=field_hint)
        except Refused as inner:
            refused.problem, refused.parts = inner.problem, [*inner.parts, f".{name}"]
            return


def _fields(hint: Any) -> dict[str, Any]:
    """The fields with their hints, the type variables of a generic class replaced."""
    cls: Any = get_origin(hint) or hint
    known = dict(zip(getattr(cls, "__parameters__", ()), get_args(hint), strict=False))
    hints = get_type_hints(cls, include_extras=True)
    names = [field.name for field in (attrs.fields(cls) if attrs.has(cls) else dataclasses.fields(cls))]
    return {name: _bound(hints.get(name, Any), known) for name in names}


def _bound(hint: Any, known: dict[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return known.get(hint, Any)
    inner = getattr(hint, "__parameters__", ()) if get_origin(hint) else ()
    return hint[tuple(known.get(one, Any) for one in inner)] if inner else hint
