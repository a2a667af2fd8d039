"""Entries as they are stored in a commit: small, and readable commit by commit.

A record is ``[tag, at, body]`` or ``[tag, at, body, by]``. ``at`` is the difference in microseconds to the record
before; ``by`` holds what differs from the provenance of the record before. The first record of a commit has the whole
provenance in ``by``, with its instant, so that commits can be joined in any way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from flowli.codec.plain import located
from flowli.codec.stored import BODIES, converter, unknown
from flowli.domain.data import Data
from flowli.domain.entries import ControlBody, ControlEntry, JournalBody, JournalEntry, UnknownBody
from flowli.domain.provenance import Actor, Code, Provenance, Site
from flowli.timestamp import Timestamp

__all__ = ["dump_entries", "load_control", "load_journal"]

E = TypeVar("E", JournalEntry, ControlEntry)

_CODE = tuple(field.name for field in fields(Code))
_BY = frozenset({"at", "actor", "site", "code", "attempt", "trace"})


def dump_entries(entries: Sequence[JournalEntry] | Sequence[ControlEntry]) -> list[Data]:
    """One record for each entry. Sequence numbers are not stored: the place in the log says them."""
    made, records = converter(), list[Data]()
    before: Provenance | None = None
    for entry in entries:
        body = entry.body.data if isinstance(entry.body, UnknownBody) else made.unstructure(entry.body)
        if entry.more is not None:
            body = {**entry.more, **body}
        record = [entry.body.tag, 0 if before is None else entry.by.at.us - before.at.us, body]
        if before is None:
            record.append({"at": entry.by.at.us, **_differences(entry.by, None)})
        elif entry.by is not before and (by := _differences(entry.by, before)):
            record.append(by)
        records.append(record)
        before = entry.by
    return records


def load_journal(records: Sequence[Data], *, first: int = 1) -> tuple[JournalEntry, ...]:
    """The journal entries of some commits, numbered from ``first``.

    An entry that this version does not know, or cannot read, is an ``UnknownBody`` with all its data; unknown fields
    of one that it knows are kept in ``more``.

    Raises:
        InvalidValue: these are not records of entries.
    """
    return _load(JournalEntry, JournalBody, records, first)


def load_control(records: Sequence[Data], *, first: int = 1) -> tuple[ControlEntry, ...]:
    """The control entries of some commits, numbered from ``first``.

    Raises:
        InvalidValue: these are not records of entries.
    """
    return _load(ControlEntry, ControlBody, records, first)


def _load(cls: type[E], union: Any, records: Sequence[Data], first: int) -> tuple[E, ...]:
    made, bodies, loaded = converter(), BODIES[union], list[E]()
    before: Provenance | None = None
    try:
        for seq, record in enumerate(records, first):
            tag, at, data, *rest = cast("tuple[str, int, dict[str, Data], Any]", record)
            before = _provenance(before, at, rest[0] if rest else {})
            known = bodies.get(tag)
            body, more = UnknownBody(tag, data), None
            if known is not None:
                try:
                    body = made.structure(data, known)
                    if not data.keys() <= known.__dataclass_fields__.keys():
                        more = unknown(data, known.__dataclass_fields__)
                except Exception:
                    body = UnknownBody(tag, data)  # a newer version wrote a value here that this one does not know
            loaded.append(cls(body, before, seq, more))
    except Exception as error:
        raise located(error).invalid_value(f"entries[{len(loaded)}]") from error
    return tuple(loaded)


def _differences(by: Provenance, before: Provenance | None) -> dict[str, Any]:
    made, found = converter(), dict[str, Any]()
    for part in ("actor", "site"):
        value = getattr(by, part)
        if before is None or value != getattr(before, part):
            found[part] = made.unstructure(value)
    if before is None or before.code is None or by.code is None:
        if by.code != (before.code if before else None):
            found["code"] = made.unstructure(by.code)
    elif by.code != before.code:
        old, new = before.code, by.code
        found["code"] = {name: getattr(new, name) for name in _CODE if getattr(new, name) != getattr(old, name)}
    if by.attempt != (before.attempt if before else 0):
        found["attempt"] = by.attempt
    if by.trace != (before.trace if before else ""):
        found["trace"] = by.trace
    if by.more is not None and (before is None or by.more != before.more):
        found.update(by.more)
    return found


def _provenance(before: Provenance | None, at: int, by: dict[str, Any]) -> Provenance:
    made = converter()
    if "at" in by:
        code = made.structure(by["code"], Code) if by.get("code") else None
        actor, site = made.structure(by["actor"], Actor), made.structure(by["site"], Site)
        return Provenance(
            actor, site, Timestamp(by["at"]), code, by.get("attempt", 0), by.get("trace", ""), _more(None, by)
        )
    if before is None:
        raise ValueError("the first record has no provenance")
    if not by:
        if at == 0:
            return before
        # Not by ``replace``: most entries of a log come by here.
        now = Timestamp(before.at.us + at)
        return Provenance(before.actor, before.site, now, before.code, before.attempt, before.trace, before.more)
    changed: dict[str, Any] = {"at": Timestamp(before.at.us + at), "more": _more(before.more, by)}
    if "actor" in by:
        changed["actor"] = made.structure(by["actor"], Actor)
    if "site" in by:
        changed["site"] = made.structure(by["site"], Site)
    if "attempt" in by:
        changed["attempt"] = by["attempt"]
    if "trace" in by:
        changed["trace"] = by["trace"]
    if "code" in by:
        old, new = before.code, by["code"]
        known = {name: value for name, value in (new or {}).items() if name in _CODE}
        changed["code"] = None if new is None else made.structure(new, Code) if old is None else replace(old, **known)
    return replace(before, **changed)


def _more(before: dict[str, Data] | None, by: dict[str, Any]) -> dict[str, Data] | None:
    """The fields of a newer version in a provenance: what is not told again is as before."""
    fresh = unknown(by, _BY)
    return {**(before or {}), **fresh} if fresh else before
