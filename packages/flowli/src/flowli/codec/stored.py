"""The cattrs converter for domain objects, which are trusted: flowli wrote what it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, get_args, get_origin
from uuid import UUID

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from flowli.codec.hints import is_plain
from flowli.codec.plain import Refused
from flowli.domain.entries import ControlBody, JournalBody, UnknownBody
from flowli.domain.waits import On
from flowli.timestamp import Timestamp

__all__ = ["BODIES", "converter", "unknown"]

_MORE = "more"

BODIES: dict[Any, dict[str, Any]] = {
    union: {member.tag: member for member in get_args(union) if member is not UnknownBody}
    for union in (On, JournalBody, ControlBody)
}
"""For each tagged union its members by tag."""


@lru_cache(maxsize=1)
def converter() -> Converter:
    """The converter; defaults are left out; unknown fields are kept in ``more`` where there is one, else ignored."""
    made = Converter(omit_if_default=True, detailed_validation=False)
    made.register_unstructure_hook_factory(_keeps_more, lambda cls: _dump_with_more(made, cls))
    made.register_structure_hook_factory(_keeps_more, lambda cls: _load_with_more(made, cls))
    made.register_unstructure_hook(UUID, str)
    made.register_structure_hook(UUID, lambda data, _: UUID(data))
    made.register_unstructure_hook(Timestamp, str)
    made.register_structure_hook(Timestamp, lambda data, _: Timestamp.parse(data))
    made.register_unstructure_hook(StrEnum, lambda member: member._value_)
    made.register_structure_hook(StrEnum, lambda data, cls: cls(data))
    made.register_unstructure_hook_factory(_is_tuple, lambda hint: _dump_tuple(made, hint))
    for union in BODIES:
        made.register_unstructure_hook_func(_is(union), _dump_tagged(made))
        made.register_structure_hook_func(_is(union), _load_tagged(made, union))
    made.register_unstructure_hook_func(is_plain, lambda value: value)
    made.register_structure_hook_func(is_plain, lambda data, _: data)
    for cls in (bool, int, float, str):  # cattrs looks classes up before it asks predicates
        made.register_structure_hook(cls, lambda data, _: data)
    return made


def _keeps_more(hint: Any) -> bool:
    return isinstance(hint, type) and _MORE in getattr(hint, "__dataclass_fields__", ())


def _dump_with_more(made: Converter, cls: Any) -> Callable[[Any], Any]:
    dump = make_dict_unstructure_fn(cls, made, _cattrs_omit_if_default=True, more=override(omit=True))

    def run(value: Any) -> Any:
        return dump(value) if value.more is None else {**value.more, **dump(value)}

    return run


def _load_with_more(made: Converter, cls: Any) -> Callable[[Any, Any], Any]:
    load: Any = make_dict_structure_fn(cls, made, _cattrs_detailed_validation=False, more=override(omit=True))
    known = cls.__dataclass_fields__.keys() - {_MORE}

    def run(data: Any, _: Any) -> Any:
        value = load(data, cls)
        return value if data.keys() <= known else replace(value, more=unknown(data, known))

    return run


def unknown(data: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The fields that are not known."""
    return {name: value for name, value in data.items() if name not in known}


def _is(union: Any) -> Callable[[Any], bool]:
    return lambda hint: bool(hint == union)


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _dump_tuple(made: Converter, hint: Any) -> Callable[[Any], Any]:
    dump = made.get_unstructure_hook(get_args(hint)[0])
    return lambda value: [dump(item) for item in value]


def _dump_tagged(made: Converter) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        return {"tag": value.tag, **(value.data if isinstance(value, UnknownBody) else made.unstructure(value))}

    return run


def _load_tagged(made: Converter, union: Any) -> Callable[[Any, Any], Any]:
    members = BODIES[union]

    def run(data: Any, _: Any) -> Any:
        cls = members.get(data["tag"])
        if cls is not None:
            return made.structure(data, cls)
        if union == On:
            raise Refused(f"a wait on {data['tag']!r}, which a newer version wrote")
        return UnknownBody(data["tag"], {key: item for key, item in data.items() if key != "tag"})

    return run
