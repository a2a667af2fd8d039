"""Read a log forward: the next number, then pages in parallel, segments where there are. Absent means tail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from flowli.cairn.commit import START, Commit, Position
from flowli.cairn.snapshot import SEGMENT, Segments, segment_of

__all__ = ["Chunk", "read_forward"]

_COLD = 4
_SEGMENTS_FROM = 16
_MOST = 64
_AFTER_SEGMENTS = 44


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a read found.

    Attributes:
        commits: in order.
        position: where to go on.
        caught_up: whether nothing followed when it was read.
    """

    commits: list[Commit]
    position: Position
    caught_up: bool


async def read_forward(
    get: Callable[[int], Awaitable[Commit | None]], segments: Segments, after: Position, limit: int | None
) -> Chunk:
    """Read the commits after a position.

    Args:
        get: reads one commit.
        segments: those of the log; asked only once the log has shown to be long.
        after: where to begin.
        limit: the most commits; None for all.
    """
    commits: list[Commit] = []
    number, most = after.commit + 1, _MOST
    wide = _COLD if after == START else 1
    asked = False
    while limit is None or len(commits) < limit:
        left = most if limit is None else min(limit - len(commits), most)
        known = not asked and segments.listed(segment_of(number))
        # what a segment is known to hold is not read beside it
        numbers = range(number, number if known else number + min(wide, left))
        look = known or (not asked and wide >= _SEGMENTS_FROM)
        folded, page = await asyncio.gather(
            _folded(segments, number, limit) if look else _none(), asyncio.gather(*map(get, numbers))
        )
        asked = asked or look
        wide = min(wide * 4, most)
        if folded:
            # The listing named whole segments from here on; they hold what the page held.
            room = None if limit is None else limit - len(commits)
            commits.extend([one for one in folded if one.number >= number][:room])
            wide = _AFTER_SEGMENTS
        elif not known:
            present = _until_absent(page)
            commits.extend(present)
            if len(present) < len(page):
                return Chunk(commits, _end(commits, after), caught_up=True)
        number = commits[-1].number + 1 if commits else number
    return Chunk(commits, _end(commits, after), caught_up=False)


async def _folded(segments: Segments, number: int, limit: int | None) -> list[Commit]:
    """The commits of the segments that cover ``number`` and follow without a gap."""
    first = segment_of(number)
    present = await segments.present(first)
    if limit is not None:
        present = present[: limit // SEGMENT + 2]
    commits: list[Commit] = []
    for at in range(0, len(present), _MOST):
        for one in await asyncio.gather(*map(segments.read, present[at : at + _MOST])):
            if one is None:
                return commits
            commits.extend(one)
    return commits


async def _none() -> list[Commit]:
    return []


def _until_absent(page: list[Commit | None]) -> list[Commit]:
    present: list[Commit] = []
    for one in page:
        if one is None:
            break
        present.append(one)
    return present


def _end(commits: list[Commit], after: Position) -> Position:
    return commits[-1].position if commits else after
