"""What stands for the entries that were compacted away: one object of msgpack beside the control log.

``logs/wf/snapshots/kept/{N:012d}.msgpack`` holds what was kept of the entries up to commit N, each with its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from flowli.adapters.cairndb.scan import list_keys
from flowli.cairn.commit import log_prefix
from flowli.cairn.errors import FormatTooNew
from flowli.cairn.log import Position
from flowli.cairn.objects import Documents
from flowli.cairn.snapshot import SEGMENT, Segments
from flowli.cairn.values import JSON, from_msgpack, to_msgpack
from flowli.codec import dump_entries, load_control
from flowli.domain import keys
from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry

__all__ = ["delete_before", "read", "write"]

_FORMAT = 1
_PREFIX = f"{log_prefix(keys.CONTROL_LOG)}snapshots/kept/"


def _key(commit: int) -> str:
    return f"{_PREFIX}{commit:012d}.msgpack"


async def write(documents: Documents, up_to: Position, kept: Sequence[ControlEntry]) -> None:
    """Put what was kept of the entries up to a position; what stands there already stays."""
    body = {"v": _FORMAT, "seqs": [entry.seq for entry in kept], "entries": dump_entries(kept)}
    await documents.create_bytes(_key(up_to.commit), to_msgpack(cast("JSON", body)))


async def read(documents: Documents, up_to: Position) -> tuple[ControlEntry, ...] | None:
    """What was kept of the entries up to a position; None if it was compacted further since.

    Raises:
        FormatTooNew: a newer release wrote it.
    """
    key = _key(up_to.commit)
    found = await documents.read_bytes(key)
    if found is None:
        return None
    body = from_msgpack(found.data, key)
    form = body.get("v")
    if isinstance(form, int) and form > _FORMAT:
        raise FormatTooNew(f"{key!r} has format {form} and this release reads {_FORMAT}", "Upgrade flowli")
    seqs, entries = cast("list[int]", body["seqs"]), cast("list[Data]", body["entries"])
    return tuple(replace(entry, seq=seq) for entry, seq in zip(load_control(entries), seqs, strict=True))


async def delete_before(documents: Documents, up_to: Position, segments: Segments) -> None:
    """Delete what stood for less than what stands now, and the segments of commits that are gone."""
    old = [key for key in await list_keys(documents, _PREFIX) if key < _key(up_to.commit)]
    whole = segments.key(up_to.commit // SEGMENT + 1)
    folded = [key for key in await list_keys(documents, whole.rpartition("/")[0] + "/") if key < whole]
    await documents.delete_many([*old, *folded])
