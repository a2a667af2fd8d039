"""Whether a condition holds for what stands under a key."""

from __future__ import annotations

from flowli.cairn.write import Gone, Lost
from flowli_store_lmdb.records import Record


def refused_by(found: Record | None, if_absent: bool, if_version: str | None) -> Lost | Gone | None:
    """The answer to a write whose condition does not hold; None if it holds, or there is none."""
    if found is None:
        return None if if_version is None else Gone()
    return Lost() if if_absent or if_version not in (None, found.version) else None
