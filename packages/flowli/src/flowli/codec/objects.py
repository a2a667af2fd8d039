"""Domain objects as data and back: every object that a port takes or gives."""

from __future__ import annotations

from typing import TypeVar, cast

from flowli.codec.entries import dump_entries, load_journal
from flowli.codec.plain import located
from flowli.codec.stored import converter
from flowli.domain.data import Data
from flowli.domain.ports.archive import ArchivedExecution

__all__ = ["dump", "load"]

T = TypeVar("T")


def dump(obj: object) -> dict[str, Data]:
    """The JSON-compatible form of a domain object: an execution, a task, a message, a lease's holder, an entry, ...

    Fields that hold their default are left out; instants are texts, so that people can read them. The result shares the
    payloads of ``obj``: write it, do not change it.
    """
    data = cast("dict[str, Data]", converter().unstructure(obj))
    if isinstance(obj, ArchivedExecution):
        data["entries"] = dump_entries(obj.entries)
    return data


def load(cls: type[T], data: Data) -> T:
    """The object that ``dump`` wrote; unknown fields are ignored.

    Raises:
        InvalidValue: the data is not that of such an object.
    """
    try:
        if issubclass(cls, ArchivedExecution) and isinstance(data, dict):
            entries = load_journal(cast("list[Data]", data["entries"]))
            made = converter().structure({**data, "entries": []}, cls)
            return cast("T", ArchivedExecution(made.execution, entries, made.position, made.archived_at))
        return converter().structure(data, cls)
    except Exception as error:
        raise located(error).invalid_value(cls.__name__) from error
