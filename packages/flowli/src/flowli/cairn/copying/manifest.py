"""What was copied: for each key the version that the source had, and the digest of its body.

It stands in the target, in pages under ``wf/copy/``, each written when the objects that it names are there. So a copy
that was killed goes on where it stopped, and what it had copied without a page is copied once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flowli.cairn.copying.walk import keys_under
from flowli.cairn.objects import Created, Documents
from flowli.cairn.values import JSON, from_msgpack, to_msgpack

__all__ = ["PREFIX", "Copied", "Manifest", "digest_of"]

PREFIX = "wf/copy/"
"""Where the pages are; these keys belong to no installation."""

_ABSENT = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """One key as it was when it was copied.

    Attributes:
        key: its name.
        version: that of the source.
        digest: SHA-256 of the body in hexadecimal digits; empty where nothing was to be copied (a tombstone).
    """

    key: str
    version: str
    digest: str = _ABSENT


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


class Manifest:
    """All that was copied, in memory and in the target.

    Args:
        documents: of the target.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[str, Copied] = {}
        self._pages = 0

    async def load(self) -> None:
        """Read the pages that are there."""
        pages = [one.key async for one in keys_under(self._documents, PREFIX)]
        for key in pages:
            found = await self._documents.read_bytes(key)
            if found is None:
                continue
            body = from_msgpack(found.data, key)
            for line in _lines(body.get("copied")):
                self._known[line[0]] = Copied(*line)
            for line in _lines(body.get("removed")):
                self._known.pop(line[0], None)
        self._pages = int(pages[-1].rpartition("/")[2]) if pages else 0

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Copied]:
        return iter(list(self._known.values()))

    def get(self, key: str) -> Copied | None:
        """What is known of a key."""
        return self._known.get(key)

    async def note(self, copied: Iterable[Copied], removed: Iterable[str] = ()) -> None:
        """Write a page; the objects are already there, or gone."""
        lines, gone = list(copied), list(removed)
        if not lines and not gone:
            return
        told: list[JSON] = [[one.key, one.version, one.digest] for one in lines]
        body = to_msgpack({"v": 1, "copied": told, "removed": [[key] for key in gone]})
        while True:
            self._pages += 1
            done = await self._documents.create_bytes(f"{PREFIX}{self._pages:08d}", body)
            if isinstance(done, Created):
                break
        self._known |= {one.key: one for one in lines}
        for key in gone:
            self._known.pop(key, None)

    async def drop(self) -> None:
        """Remove the pages; the target is an installation like any other then."""
        await self._documents.delete_many([one.key async for one in keys_under(self._documents, PREFIX)])


def _lines(value: JSON) -> Iterator[list[str]]:
    for line in value if isinstance(value, list) else ():
        if isinstance(line, list):
            yield [str(one) for one in line]
