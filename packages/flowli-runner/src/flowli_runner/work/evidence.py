"""Evidence of an attempt: masked, cut in the middle where it is too long, and written once."""

from __future__ import annotations

import mimetypes
import os
import re
from pathlib import Path

from flowli.domain.delegate import Delegate
from flowli_runner.contracts import EvidenceRef
from flowli_runner.process.launch import after_gap, before_gap
from flowli_runner.work.masking import Masker
from flowli_runner.work.plane import Plane

__all__ = ["Box", "Stream"]

_STRANGE = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_PIECE = 65_536
_LOOKS = 25
_MOST_ATTACHMENTS = 32


class Box:
    """Keeps bodies beside the execution of a delegate.

    Args:
        plane: where they are kept.
        limit: bytes of one body; the first and the last half are kept.
    """

    def __init__(self, plane: Plane, delegate: Delegate, masker: Masker, limit: int) -> None:
        self._plane, self._delegate, self._masker, self._limit = plane, delegate, masker, limit
        self.refs: list[EvidenceRef] = []

    async def put(self, what: str, data: bytes, media_type: str = "text/plain", size: int = 0) -> str:
        """Keep a body; returns the name under which it stands, "" if it is empty or cannot be kept.

        Args:
            size: of the whole, where ``data`` is only its beginning and its end.
        """
        if not data:
            return ""
        body = self._masker.body(data)
        half = self._limit // 2
        cut = len(body) > self._limit
        if cut:
            gap = f"\n... {len(body) - 2 * half + max(0, size - len(data))} bytes left out ...\n".encode()
            body = body[:half] + gap + body[-half:]
        name = await self._plane.keep(self._delegate, what, body, media_type)
        if name:
            self.refs.append(EvidenceRef(name, media_type, max(size, len(data)), cut))
        return name

    async def attach(self, folder: Path) -> None:
        """Keep the files that an agent has put into a folder, each with the media type of its name."""
        for path in _attachments(folder):
            media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            name = f"attachment-{_STRANGE.sub('-', path.stem)[:60]}{_suffix(path)}"
            await self.put_file(name, path, media_type)

    async def put_file(self, what: str, path: Path, media_type: str = "text/plain") -> str:
        """Keep a file; of one that is too large no more is read than is kept."""
        size = _size(path)
        if size <= 2 * self._limit:
            return await self.put(what, _read(path), media_type)
        first, last = _read_from(path, 0, self._limit), _read_from(path, size - self._limit, self._limit)
        return await self.put(what, before_gap(first) + after_gap(last), media_type, size)


class Stream:
    """Keeps a transcript while it grows, in pieces of whole lines: ``transcript-00001``, ...

    Args:
        path: of the file that grows.
    """

    def __init__(self, box: Box, masker: Masker, path: Path) -> None:
        self._box, self._masker, self._path = box, masker, path
        self._offset = self._count = self._looks = 0

    async def look(self) -> None:
        """Called again and again: keep what is new, at once if it is much, else now and then."""
        self._looks += 1
        new = _read_from(self._path, self._offset)
        if len(new) >= _PIECE or (new and self._looks >= _LOOKS):
            await self._keep(new[: self._masker.whole_part(new) or self._cut(new)])

    async def end(self) -> None:
        """Keep the rest, and the last part of what was too long."""
        tail = _read(self._path.with_name(f"{self._path.name}.tail"))
        while rest := _read_from(self._path, self._offset):
            if self._cut(rest):
                await self._keep(rest[: self._masker.whole_part(rest) or self._cut(rest)])
                continue
            if tail:
                rest = before_gap(rest)
            await self._keep(rest)
            break
        if tail:
            await self._box.put("transcript-tail", after_gap(tail))

    def _cut(self, data: bytes) -> int:
        """Where a line that is too long may be cut; 0 while its rest may yet come."""
        return self._masker.cut(data, 3 * _PIECE) if len(data) == 4 * _PIECE else 0

    async def _keep(self, data: bytes) -> None:
        if data:
            self._count += 1
            await self._box.put(f"transcript-{self._count:05d}", data)
            self._offset += len(data)
            self._looks = 0


def _attachments(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            files = [Path(one.path) for one in found if one.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(files)[:_MOST_ATTACHMENTS]


def _suffix(path: Path) -> str:
    return path.suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,16}", path.suffix, re.ASCII) else ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read_from(path: Path, offset: int, size: int = 4 * _PIECE) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError:
        return b""
