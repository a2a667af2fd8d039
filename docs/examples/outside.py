"""The outside world of the examples: a card processor, couriers, mail. Each effect is one line of a ledger file.

A real application calls services here and passes ``step_info().idempotency_key`` on, so that a service that is asked
twice acts once. The ledger writes that key down instead; ``demo.py`` compares the lines with the journals.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flowli import step_info

LEDGER = "EXAMPLES_LEDGER"
"""Environment variable: the path of the ledger file."""


@dataclass(frozen=True, slots=True)
class Line:
    """One effect: what happened to what, in which frame and attempt, done by which process."""

    what: str
    subject: str
    eid: str
    fid: str
    attempt: int
    key: str
    pid: int


def happened(what: str, subject: str) -> None:
    """Append one line, whole and at once, whoever else is writing."""
    info = step_info()
    line = Line(what, subject, str(info.eid), info.fid, info.attempt, info.idempotency_key, os.getpid())
    text = json.dumps({name: getattr(line, name) for name in Line.__slots__})
    file = os.open(os.environ.get(LEDGER, "ledger.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, text.encode() + b"\n")
    finally:
        os.close(file)


def read_ledger(path: Path) -> Iterator[Line]:
    """The lines so far; one that is just being written is left for the next reading."""
    if path.exists():
        whole, _, _ = path.read_text().rpartition("\n")
        yield from (Line(**json.loads(text)) for text in whole.splitlines())


def luck(subject: str, sides: int) -> int:
    """A number below ``sides`` that is always the same for one subject: chance that every run of an example repeats."""
    return zlib.crc32(subject.encode()) % sides
