"""The form of an export: lines of JSON.

::

    {"format": "flowli.executions", "version": 1, "exported_at": "...", "exported_by": {...}}
    {"execution": {...}, "entries": [...], "attributes": {...}, "archived_at": null, "sha256": "..."}
    ...
    {"count": 2, "sha256": "..."}

``sha256`` of a line is that of its canonical JSON without it; that of the last line is over those of the lines before.
Values stand in it as the workflow knows them: neither compressed nor encrypted, and none is elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from flowli import codec
from flowli.domain.data import Data, Scalar
from flowli.domain.entries import JournalEntry, Position
from flowli.domain.errors import InvalidValue, UsageError
from flowli.domain.execution import Execution
from flowli.domain.ports import ArchivedExecution
from flowli.domain.provenance import Actor
from flowli.timestamp import Timestamp

__all__ = ["FORMAT", "VERSION", "BadExport", "Portable", "read_export", "write_export"]

FORMAT = "flowli.executions"
VERSION = 1


class BadExport(UsageError):
    """A file that is no export, is damaged or cut off, or is of a newer version; says at which line."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} of the export: {problem}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Portable:
    """One execution with all that its bucket remembers of it for good.

    Attributes:
        archived_at: when it was archived where it comes from; None if it was not.
    """

    execution: Execution
    entries: tuple[JournalEntry, ...]
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    archived_at: Timestamp | None = None


def write_export(executions: Iterable[Portable], *, at: Timestamp, by: Actor) -> Iterator[str]:
    """The lines of an export, without line ends."""
    head: dict[str, Data] = {"format": FORMAT, "version": VERSION, "exported_at": str(at)}
    yield _line({**head, "exported_by": codec.dump(by)})
    whole, count = hashlib.sha256(), 0
    for one in executions:
        body = _body(one)
        digest = _digest(body)
        whole.update(digest.encode())
        count += 1
        yield _line({**body, "sha256": digest})
    yield _line({"count": count, "sha256": whole.hexdigest()})


def read_export(lines: Iterable[str]) -> Iterator[Portable]:
    """The executions of an export, each verified before it is given out.

    Raises:
        BadExport: what was read so far is sound; the line that is not, or the missing end, is named.
    """
    whole, count, number, ended = hashlib.sha256(), 0, 0, False
    for number, text in enumerate(lines, 1):
        data = _parsed(number, text)
        if number == 1:
            _check_head(data)
        elif ended:
            raise BadExport(number, "something follows the last line")
        elif "count" in data:
            ended = True
            if data != {"count": count, "sha256": whole.hexdigest()}:
                raise BadExport(number, f"it tells of other lines than the {count} before it; the file was changed")
        else:
            one, digest = _execution(number, data)
            whole.update(digest.encode())
            count += 1
            yield one
    if not ended:
        raise BadExport(number + 1, "the end is missing; the file was cut off")


def _body(one: Portable) -> dict[str, Data]:
    # the form of an archive, which every release reads and writes
    position = Position(1, len(one.entries))
    at = one.archived_at or one.execution.created_at
    data = codec.dump(ArchivedExecution(one.execution, one.entries, position, at))
    return {
        "execution": data["execution"],
        "entries": data["entries"],
        "attributes": dict(one.attributes),
        "archived_at": None if one.archived_at is None else str(one.archived_at),
    }


def _execution(number: int, data: dict[str, Data]) -> tuple[Portable, str]:
    body = {name: value for name, value in data.items() if name != "sha256"}
    digest = _digest(body)
    if data.get("sha256") != digest:
        raise BadExport(number, "its content does not fit its sha256; the file was changed")
    position: dict[str, Data] = {"commit": 1, "seq": 0}
    try:
        told = body["archived_at"]
        at = None if told is None else Timestamp.parse(str(told))
        whole: dict[str, Data] = {"execution": body["execution"], "entries": body["entries"], "position": position}
        made = codec.load(ArchivedExecution, {**whole, "archived_at": "1970-01-01T00:00:00.000000Z"})
        attributes = cast("dict[str, Scalar]", body["attributes"])
    except (KeyError, ValueError, InvalidValue) as error:
        raise BadExport(number, f"it holds no execution ({error})") from None
    return Portable(made.execution, made.entries, attributes, at), digest


def _check_head(data: dict[str, Data]) -> None:
    if data.get("format") != FORMAT:
        raise BadExport(1, "this is no export of flowli")
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise BadExport(1, f"it has version {version} and this release reads {VERSION}; upgrade flowli")


def _parsed(number: int, text: str) -> dict[str, Data]:
    try:
        data: Data = json.loads(text)
    except ValueError:
        raise BadExport(number, "it is no JSON") from None
    if not isinstance(data, dict):
        raise BadExport(number, "it is no JSON object")
    return data


def _digest(body: dict[str, Data]) -> str:
    return hashlib.sha256(codec.canonical(body)).hexdigest()


def _line(data: dict[str, Data]) -> str:
    return codec.canonical(data).decode()
