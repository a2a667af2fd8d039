"""The cattrs converter behind typed values: hooks prepared once per type, JSON forms that can always be read back.

========================  ==============================================================================
type                      JSON form
========================  ==============================================================================
dataclass, attrs, model   an object of its fields
enum                      its value if all are texts or all integers, else its name
datetime, date, time      ISO 8601, with the offset it has
timedelta                 ``PT93784.5S``; any ISO 8601 duration without years and months is read
UUID, Decimal, path       its text
bytes                     base64
tuple, set, frozenset     a list; sets in the order of the items' canonical JSON
dict[K, V]                an object; keys that are no texts as their JSON text
A | B                     the form of the member; if two members share one, ``{"$type": "B", ...}``
========================  ==============================================================================
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cattrs import Converter

from flowli.codec import classes, containers, scalars, strict, unions
from flowli.codec.hints import is_plain
from flowli.codec.plain import copy

__all__ = ["converter"]


@lru_cache(maxsize=2)
def converter(checking: bool = False) -> Converter:
    """The converter for values.

    Args:
        checking: plain values must be of the annotated type; otherwise they are taken as they are.
    """
    made = Converter(detailed_validation=True)
    classes.register(made)
    containers.register(made)
    scalars.register(made)
    unions.register(made, checking)
    made.register_unstructure_hook_factory(is_plain, lambda _: _as_is)
    made.register_structure_hook_factory(is_plain, lambda hint: strict.checked(hint) if checking else _copied)
    scalars.register_natives(made, strict.checked if checking else lambda _: _copied)
    return made


def _as_is(value: Any) -> Any:
    return value


def _copied(value: Any, _: Any) -> Any:
    return copy(value)
