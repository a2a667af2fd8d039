"""The cattrs converter behind typed values: hooks prepared once per type, JSON forms that can always be read back.

========================  ==============================================================================
type                      JSON form
========================  ==============================================================================
dataclass, attrs, model   an object of its fields
enum                      its value if all are texts or all integers, else its name
datetime, date, time      ISO 8601, with the offset it has
timedelta                 ``PT93784.5S``
UUID, Decimal, path       its text
bytes                     base64
tuple, set, frozenset     a list; sets in the order of the items' canonical JSON
dict[K, V]                an object; keys that are no texts as their JSON text
A | B                     the form of the member; if two members share one, ``{"$type": "B", ...}``
========================  ==============================================================================
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_origin

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_unstructure_fn

from flowli.codec import containers, scalars, strict, unions
from flowli.codec.hints import is_plain
from flowli.codec.plain import Refused, copy

__all__ = ["converter"]


@lru_cache(maxsize=2)
def converter(checking: bool = False) -> Converter:
    """The converter for values.

    Args:
        checking: plain values must be of the annotated type; otherwise they are taken as they are.
    """
    made = Converter(detailed_validation=True)
    made.register_unstructure_hook_factory(_is_class, lambda hint: _dump_class(made, hint))
    containers.register(made)
    scalars.register(made)
    unions.register(made, checking)
    made.register_unstructure_hook_factory(is_plain, lambda _: _as_is)
    made.register_structure_hook_factory(is_plain, lambda hint: strict.checked(hint) if checking else _copied)
    scalars.register_natives(made, strict.checked if checking else lambda _: _copied)
    return made


def _is_class(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    return isinstance(origin, type) and (dataclasses.is_dataclass(origin) or attrs.has(origin))


def _dump_class(made: Converter, hint: Any) -> Callable[[Any], Any]:
    """The generated function; only when it fails are the fields tried one by one, to find the path."""
    cls: Any = get_origin(hint) or hint
    generated = make_dict_unstructure_fn(hint, made)

    def run(value: Any) -> Any:
        containers.expect(value, cls, hint)
        try:
            return generated(value)
        except Refused as refused:
            _locate(made, value, cls, refused)
            raise

    return run


def _locate(made: Converter, value: Any, cls: Any, refused: Refused) -> None:
    attrs.resolve_types(cls) if attrs.has(cls) else None
    for field in attrs.fields(cls) if attrs.has(cls) else dataclasses.fields(cls):
        try:
            made.unstructure(getattr(value, field.name), unstructure_as=field.type)
        except Refused as inner:
            refused.problem, refused.parts = inner.problem, [*inner.parts, f".{field.name}"]
            return


def _as_is(value: Any) -> Any:
    return value


def _copied(value: Any, _: Any) -> Any:
    return copy(value)
