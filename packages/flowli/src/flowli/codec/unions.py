"""Hooks for ``A | B``: a member is known by its JSON form, or by a ``$type`` where two members share one.

Which members carry ``$type`` follows from the annotation alone, so that a reader needs nothing but the annotation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, get_args, get_origin

from cattrs import Converter

from flowli.codec.containers import dumper, loader
from flowli.codec.hints import is_plain, is_union, kind, shown, strip
from flowli.codec.plain import Refused, copy, described

__all__ = ["register"]

_TAG = "$type"
_FORMS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "list",
    dict: "object",
}


class _Union:
    """One union, prepared."""

    def __init__(self, made: Converter, hint: Any, strict: bool) -> None:
        self.hint, self.strict = hint, strict
        members = [strip(arg) for arg in get_args(hint)]
        forms = Counter(kind(member) for member in members)
        names = Counter(_name(member) for member in members)
        self.dumps: list[tuple[Any, str | None, bool, Callable[[Any], Any]]] = []
        self.by_tag: dict[str, Callable[[Any], Any]] = {}
        self.by_form: dict[str, Callable[[Any], Any]] = {}
        for member in members:
            form, load = kind(member), loader(made, member)
            tag = None
            if not is_plain(member) and forms[form] > 1:
                tag = _name(member) if names[_name(member)] == 1 else str(member)
                self.by_tag[tag] = load if form == "object" else _unwrapped(load)
            else:
                self.by_form.setdefault(form, load)
            self.dumps.append((get_origin(member) or member, tag, form == "object", dumper(made, member)))

    def dump(self, value: Any) -> Any:
        """The data of ``value`` by the member that fits best: its own class before a base class of it."""
        for exact in (True, False):
            for cls, tag, inline, dump in self.dumps:
                if not (type(value) is cls if exact else isinstance(cls, type) and isinstance(value, cls)):
                    continue
                data = dump(value)
                if tag is None:
                    return data
                return {_TAG: tag, **data} if inline else {_TAG: tag, "value": data}
        if self.strict or type(value) not in _FORMS:
            raise Refused(f"{described(value)}, where {shown(self.hint)} is annotated")
        return value

    def load(self, data: Any, _: Any) -> Any:
        """The value again."""
        if type(data) is dict and data.get(_TAG) in self.by_tag:
            return self.by_tag[data[_TAG]]({key: item for key, item in data.items() if key != _TAG})
        form = _FORMS[type(data)]
        load = (
            self.by_form.get(form)
            or (self.by_form.get("number") if form == "bool" else None)
            or self.by_form.get("any")
        )
        if load is not None:
            return load(data)
        if self.strict or form in ("list", "object"):
            raise Refused(f"{described(data)}, where {shown(self.hint)} is annotated")
        return copy(data)


def register(made: Converter, strict: bool) -> None:
    """Teach unions to a converter."""
    made.register_unstructure_hook_factory(is_union, lambda hint: _Union(made, hint, strict).dump)
    made.register_structure_hook_factory(is_union, lambda hint: _Union(made, hint, strict).load)


def _name(member: Any) -> str:
    return shown(member).rpartition(".")[2] if isinstance(member, type) else str(member)


def _unwrapped(load: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda data: load(data.get("value"))
