"""Hypothesis strategies for what the ports store: any payload, any object of the domain.

>>> @given(journal_entries())
... def test_my_backend_keeps(entry): ...
"""

from __future__ import annotations

import dataclasses
import typing
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st

from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry, JournalEntry, UnknownBody
from flowli.domain.ids import frame_id
from flowli.domain.provenance import Provenance
from flowli.timestamp import Timestamp

__all__ = ["control_entries", "fids", "journal_entries", "names", "objects", "payloads", "timestamps"]

T = TypeVar("T")

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)


def payloads() -> st.SearchStrategy[Data]:
    """JSON-compatible values of every shape."""
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
    return st.recursive(
        _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
    )


def timestamps() -> st.SearchStrategy[Timestamp]:
    """Every instant that a ``Timestamp`` can hold."""
    return st.integers(0, 253_402_300_799_999_999).map(Timestamp)


def names() -> st.SearchStrategy[str]:
    """Names of queues, channels, workflows, frames."""
    return st.text("abcXYZ019_-", min_size=1, max_size=12)


def fids() -> st.SearchStrategy[str]:
    """Frames at any depth, by count and by key, from a small set so that they meet again."""
    step = st.tuples(st.sampled_from(["a", "b-c"]), st.integers(1, 3) | st.sampled_from(["k", "INV-7"]))
    return st.lists(step, max_size=2).map(_path)


def objects(cls: type[T]) -> st.SearchStrategy[T]:
    """Instances of a dataclass of the domain, each field by its annotation."""
    hints = typing.get_type_hints(cls)
    if cls is Provenance:
        # within a commit a provenance is told by what differs from the one before
        hints["more"] = type(None)
    fields = {
        field.name: _field(field.name, hints[field.name]) for field in dataclasses.fields(typing.cast("Any", cls))
    }
    return st.builds(cls, **fields)


def journal_entries() -> st.SearchStrategy[JournalEntry]:
    """Any entry of a journal, those that a newer version wrote among them; not numbered."""
    return objects(JournalEntry).map(lambda entry: dataclasses.replace(entry, seq=0, more=_more(entry)))


def control_entries() -> st.SearchStrategy[ControlEntry]:
    """Any entry of the control log; not numbered."""
    return objects(ControlEntry).map(lambda entry: dataclasses.replace(entry, seq=0, more=_more(entry)))


def _more(entry: JournalEntry | ControlEntry) -> dict[str, Data] | None:
    return None if isinstance(entry.body, UnknownBody) else entry.more


def _path(parts: list[tuple[str, int | str]]) -> str:
    fid = "root"
    for name, last in parts:
        fid = frame_id(fid, name, count=last) if isinstance(last, int) else frame_id(fid, name, key=last)
    return fid


def _field(name: str, hint: Any) -> st.SearchStrategy[Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if name == "fid":
        return fids() if type(None) not in args else st.none() | fids()
    if name == "more":
        unknown = st.dictionaries(st.sampled_from(["colour", "tenant"]), payloads(), min_size=1)
        return st.none() if hint is type(None) else st.none() | unknown
    if hint is str:
        return st.sampled_from(["", "a", "ü", "x" * 40])
    if hint is int:
        return st.integers(0, 5)
    if hint is float:
        return st.floats(0, 1e6)
    if hint is bool:
        return st.booleans()
    if hint is UUID:
        return st.integers(0, 3).map(lambda n: UUID(int=n))
    if hint is Timestamp:
        return timestamps()
    if hint is UnknownBody:
        tags = st.sampled_from(["frame.moved", "execution.x"])
        return st.builds(UnknownBody, tags, st.dictionaries(st.sampled_from(["a", "at", "by"]), payloads()))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return st.deferred(lambda: objects(hint))
    if origin is tuple:
        return st.lists(_field("", args[0]), max_size=3).map(tuple)
    if origin is dict:
        values = payloads() if "dict" in str(args[1]) else _SCALARS
        return st.dictionaries(st.sampled_from(["", "a", "tag", "ü"]), values, max_size=3)
    if str in args and float in args:
        return payloads()
    if type(None) in args:
        (inner,) = [arg for arg in args if arg is not type(None)]
        return st.none() | _field("", inner)
    return st.one_of([_field("", arg) for arg in args])
