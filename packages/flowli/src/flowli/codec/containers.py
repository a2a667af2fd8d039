"""Hooks for lists, tuples, named tuples, sets and maps."""

from __future__ import annotations

import collections.abc as abc
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import orjson
from cattrs import Converter

from flowli.codec.canonical import canonical
from flowli.codec.hints import is_namedtuple, kind, shown
from flowli.codec.plain import Refused, described, key_part, located

__all__ = ["each", "expect", "loader", "register"]

Dump: TypeAlias = Callable[[Any], Any]
Load: TypeAlias = Callable[[Any, Any], Any]

_SETS: dict[object, type] = {set: set, frozenset: frozenset, abc.Set: frozenset, abc.MutableSet: set}
_LISTS: dict[object, type] = dict.fromkeys(
    (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection), list
)
_LISTS[deque] = deque
_MAPS: dict[object, type] = {dict: dict, abc.Mapping: dict, abc.MutableMapping: dict, OrderedDict: OrderedDict}


def register(made: Converter) -> None:
    """Teach the containers to a converter."""
    for origins, dump, load in (
        (_LISTS, _dump_items, _load_items),
        (_SETS, _dump_set, _load_items),
        (_MAPS, _dump_map, _load_map),
        ((tuple,), _dump_tuple, _load_tuple),
    ):
        matches = _with_origin(origins)
        made.register_unstructure_hook_factory(matches, _bound(dump, made))
        made.register_structure_hook_factory(matches, _bound(load, made))
    made.register_unstructure_hook_factory(is_namedtuple, _bound(_dump_tuple, made))
    made.register_structure_hook_factory(is_namedtuple, _bound(_load_tuple, made))


def each(values: Any, hook: Callable[[Any], Any]) -> list[Any]:
    """Apply ``hook`` to the items of a list, or to the values of a map; a refusal learns its place."""
    done: list[Any] = []
    named = isinstance(values, Mapping)
    try:
        for value in values.values() if named else values:
            done.append(hook(value))
    except Exception as error:
        refused = located(error)
        refused.under(key_part([*values][len(done)]) if named else f"[{len(done)}]")
        raise refused from error
    return done


def expect(value: object, classes: type | tuple[type, ...], hint: object) -> None:
    """Refuse what is not an instance of ``classes``."""
    if not isinstance(value, classes):
        raise Refused(f"{described(value)}, where {shown(hint)} is annotated")


def dumper(made: Converter, hint: Any) -> Dump:
    """The prepared hook of a member; looked up late where a type holds itself."""
    try:
        return made.get_unstructure_hook(hint)
    except RecursionError:
        return lambda value: made.unstructure(value, unstructure_as=hint)


def loader(made: Converter, hint: Any) -> Callable[[Any], Any]:
    """The prepared hook of a member; looked up late where a type holds itself."""
    try:
        hook = made.get_structure_hook(hint)
    except RecursionError:
        return lambda value: made.structure(value, hint)
    return lambda value: hook(value, hint)


def _with_origin(origins: abc.Container[object]) -> Callable[[Any], bool]:
    return lambda hint: isinstance(hint, abc.Hashable) and (get_origin(hint) or hint) in origins


def _bound(factory: Callable[[Converter, Any], Any], made: Converter) -> Callable[[Any], Any]:
    return lambda hint: factory(made, hint)


def _item(hint: Any) -> Any:
    return (get_args(hint) or (Any,))[0]


def _class(hint: Any) -> type:
    origin: Any = get_origin(hint) or hint
    return _LISTS.get(origin) or _SETS.get(origin) or _MAPS.get(origin) or origin


def _dump_items(made: Converter, hint: Any) -> Dump:
    cls, dump = _class(hint), dumper(made, _item(hint))

    def run(value: Any) -> Any:
        expect(value, cls, hint)
        return each(value, dump)

    return run


def _dump_set(made: Converter, hint: Any) -> Dump:
    cls, dump = _class(hint), dumper(made, _item(hint))

    def run(value: Any) -> Any:
        expect(value, cls, hint)
        return sorted(each(value, dump), key=canonical)

    return run


def _load_items(made: Converter, hint: Any) -> Load:
    cls, load = _class(hint), loader(made, _item(hint))

    def run(data: Any, _: Any) -> Any:
        expect(data, list, hint)
        items = each(data, load)
        return items if cls is list else cls(items)

    return run


def _tuple_items(hint: Any) -> tuple[Any, ...] | None:
    """The hints of the items, or None for a tuple of any length."""
    if is_namedtuple(hint):
        hints = get_type_hints(hint, include_extras=True)
        return tuple(hints.get(name, Any) for name in hint._fields)
    args = get_args(hint)
    return None if hint is tuple or (len(args) == 2 and args[1] is Ellipsis) else args


def _dump_tuple(made: Converter, hint: Any) -> Dump:
    cls, items = get_origin(hint) or hint, _tuple_items(hint)
    dumps = [dumper(made, item) for item in items or (_item(hint),)]

    def run(value: Any) -> Any:
        expect(value, cls, hint)
        return each(value, dumps[0]) if items is None else _zipped(value, dumps, hint)

    return run


def _load_tuple(made: Converter, hint: Any) -> Load:
    cls, items = get_origin(hint) or hint, _tuple_items(hint)
    loads = [loader(made, item) for item in items or (_item(hint),)]

    def run(data: Any, _: Any) -> Any:
        expect(data, list, hint)
        done = each(data, loads[0]) if items is None else _zipped(data, loads, hint)
        return tuple(done) if cls is tuple else cls(*done)

    return run


def _zipped(values: Any, hooks: list[Callable[[Any], Any]], hint: Any) -> list[Any]:
    if len(values) != len(hooks):
        raise Refused(f"{len(values)} items, where {shown(hint)} has {len(hooks)}")
    ready = iter(hooks)
    return each(values, lambda value: next(ready)(value))


def _map_parts(hint: Any) -> tuple[Any, Any]:
    args = get_args(hint)
    return (args[0], args[1]) if len(args) == 2 else (str, Any)


def _dump_map(made: Converter, hint: Any) -> Dump:
    """Keys whose data is no text are written as their JSON text: ``{1: ...}`` as ``{"1": ...}``."""
    cls, (key_hint, value_hint) = _class(hint), _map_parts(hint)
    dump_key, dump_value, textual = dumper(made, key_hint), dumper(made, value_hint), kind(key_hint) == "string"

    def run(value: Any) -> Any:
        expect(value, cls, hint)
        keys = each(dict(zip(value, value, strict=True)), dump_key)
        if not textual:
            keys = [canonical(key).decode() for key in keys]
        made_map = dict(zip(keys, each(value, dump_value), strict=True))
        if len(made_map) != len(value):
            raise Refused("two keys have one JSON form")
        return made_map

    return run


def _load_map(made: Converter, hint: Any) -> Load:
    cls, (key_hint, value_hint) = _class(hint), _map_parts(hint)
    load_key, load_value, textual = loader(made, key_hint), loader(made, value_hint), kind(key_hint) == "string"

    def run(data: Any, _: Any) -> Any:
        expect(data, dict, hint)
        keys = each(dict(zip(data, data, strict=True)), load_key if textual else lambda text: load_key(_parsed(text)))
        return cls(zip(keys, each(data, load_value), strict=True))

    return run


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        raise Refused(f"the key {text!r:.60} is no JSON text") from None
