"""Logs: commits under dense numbers. Put-if-absent at the next number arbitrates; the tail is remembered.

``append`` is for a log with one owner (a journal): it writes once, at the number after a known position, and tells
the caller who came first; the caller compares epochs. ``append_next`` is for a log that many write (the control log,
a channel): it finds the next number itself and shares commits among the callers of this process.

A number that was trimmed away is never acknowledged again: a writer for whom much time passed since it learned the
tail reads the boundary before it believes that it won.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flowli.cairn.boundary import Boundary, LogBoundary
from flowli.cairn.commit import (
    START,
    Commit,
    Position,
    check_log_name,
    commit_key,
    decode_commit,
    encode_commit,
    rewrite_commit,
)
from flowli.cairn.errors import CairnError, LogFenced, LogTrimmed, NotStorable, OutcomeUnknown, StoreError
from flowli.cairn.group import GroupCommit
from flowli.cairn.objects import Changed, Documents
from flowli.cairn.reader import Chunk, read_forward
from flowli.cairn.settle import persist, settle
from flowli.cairn.snapshot import Segments
from flowli.cairn.store import Object
from flowli.cairn.tail import last_present
from flowli.cairn.values import JSON, to_msgpack
from flowli.cairn.verdict import created
from flowli.cairn.write import Won
from flowli.world import World

__all__ = ["RETIRE_GRACE_S", "START", "Appended", "Chunk", "Commit", "Log", "Position", "Taken"]

RETIRE_GRACE_S = 86_400.0
"""How long commits stay after their boundary became durable."""


@dataclass(frozen=True, slots=True)
class Appended:
    """The commit is durable.

    Attributes:
        position: after it.
        commit: what was written.
    """

    position: Position
    commit: Commit


@dataclass(frozen=True, slots=True)
class Taken:
    """Another commit holds the number; nothing was written.

    Attributes:
        commits: those that came first, as far as they were read.
    """

    commits: tuple[Commit, ...]


class Log:
    """One named log. Share one object per name in a process (``Cairn.log`` does): it remembers the tail.

    Args:
        documents: the store.
        name: of the log; its objects stand under ``logs/{name}/``.
        world: the clock and the chance.
        boundary: tells what was trimmed, for a log that may be.
        linger_s: how long ``append_next`` gathers before a commit; doubles with each lost commit up to
            ``max_linger_s``.
        retire_grace_s: how long trimmed commits stay.

    Raises:
        KeyRefused: ``name`` is no name of a log.
    """

    def __init__(
        self,
        documents: Documents,
        name: str,
        world: World,
        *,
        boundary: Boundary | None = None,
        linger_s: float = 0.0,
        max_linger_s: float = 2.0,
        retire_grace_s: float = RETIRE_GRACE_S,
    ) -> None:
        self.name = check_log_name(name)
        self.segments = Segments(documents, name)
        self._documents = documents
        self._world = world
        self._boundary = boundary
        self._stale_s = retire_grace_s / 2
        self._tail: Position | None = None
        self._learned_s = world.boottime_s()
        self._linger_s, self._max_linger_s = linger_s, max_linger_s

    @cached_property
    def _group(self) -> GroupCommit:
        """Made at the first entry whose number does not matter; a journal has none of those."""
        return GroupCommit(self, self._world, self._linger_s, self._max_linger_s)

    @property
    def tail(self) -> Position | None:
        """The end of the log as this process knows it, or None."""
        return self._tail

    async def append(
        self,
        records: Sequence[Mapping[str, JSON]],
        *,
        after: Position,
        writer: str,
        epoch: int = 0,
        verify: bool | None = None,
    ) -> Appended | Taken:
        """Commit ``records`` right after ``after``, or learn who did. One request when it wins, one more when not.

        Args:
            records: at least one; JSON-compatible.
            after: the position to go on from.
            writer: who writes.
            epoch: the lease epoch under which it writes.
            verify: whether to read the boundary before believing in a win. None: when ``after`` is not the tail as this
                object learned it lately. True: always (the lease ended meanwhile, say). False: the caller knows
                that nothing of this log was ever trimmed (it is new).

        Raises:
            NotStorable: a record has no stored form; nothing was written.
            LogFenced: the number was trimmed away.
            OutcomeUnknown: it may have been written; an owner takes itself for fenced.
        """
        return await self._put(_encoded(records), after, writer, epoch, verify)

    async def append_next(self, records: Sequence[Mapping[str, JSON]], writer: str) -> Position:
        """Commit ``records`` after everything that is there, perhaps together with those of other callers.

        Returns:
            The position after the last of them.

        Raises:
            NotStorable: a record has no stored form; the records of other callers are not affected.
            OutcomeUnknown: they may have been written.
        """
        return await self._group.append(_encoded(records), writer)

    async def attempt(self, records: Sequence[bytes], writer: str) -> Position | None:
        """Commit encoded records at the remembered tail; None when another came first. For ``GroupCommit``."""
        # A log that is never trimmed is taken for empty at first: one write instead of a search.
        tail = self._tail or (START if self._boundary is None else await self.find_tail())
        outcome = await self._put(records, tail, writer, 0, verify=None)
        if isinstance(outcome, Appended):
            return outcome.position
        await self.find_tail()
        return None

    async def read(self, after: Position = START, limit_commits: int | None = None) -> Chunk:
        """Read the commits after a position, in order. Nothing new: one request.

        Args:
            after: where to begin.
            limit_commits: the most to return.

        Raises:
            LogTrimmed: commits after ``after`` were trimmed away.
        """
        asked_s = self._world.boottime_s()
        chunk = await read_forward(self.commit, self.segments, after, limit_commits)
        if self._boundary is not None and chunk.caught_up and not self._is_fresh(after):
            # What looks like the tail may be where commits are being deleted.
            boundary = await self._boundary.read()
            if boundary is not None and boundary > chunk.position:
                raise LogTrimmed(self.name, chunk.position.commit, boundary.commit, boundary.seq)
        if chunk.caught_up:
            self._learn(chunk.position, asked_s)
        return chunk

    def untrimmed(self, asked_s: float) -> None:
        """Nothing of this log had been trimmed at ``asked_s`` (boottime): so near to it a win needs no look at the
        boundary.
        """
        if self._tail is None:
            self._learn(START, asked_s)

    async def commit(self, number: int) -> Commit | None:
        """Read one commit; None if there is none."""
        key = commit_key(self.name, number)
        found = await self._documents.read_bytes(key)
        return None if found is None else decode_commit(key, number, found.data)

    async def find_tail(self) -> Position:
        """Find the end of the log and remember it. O(log n) requests from what is known; never lists."""
        asked_s = self._world.boottime_s()
        start = self._tail or START
        if self._boundary is not None and not self._is_fresh(start):
            start = max(start, await self._boundary.read() or START)
        _, last = await last_present(self.commit, start.commit)
        tail = start if last is None else last.position
        self._learn(tail, asked_s)
        return tail

    async def redact(self, number: int, change: Callable[[list[JSON]], list[JSON]]) -> bool:
        """Replace records of one commit by others, as many, by compare-and-swap. For erasing on request only.

        Returns:
            False if there is no such commit any more.
        """
        key = commit_key(self.name, number)
        found = await self._documents.read_bytes(key)
        while found is not None:
            data = rewrite_commit(key, found.data, change)
            if data == found.data:
                return True
            outcome = await self._documents.swap_bytes(found, data)
            if not isinstance(outcome, Changed):
                return True
            found = outcome.doc
        return False

    async def trim(self, up_to: Position) -> Position:
        """Declare the commits up to ``up_to`` unneeded, durably; deletes nothing. Returns the boundary now in force.

        ``drop_trimmed`` deletes them, ``retire_grace`` later.
        """
        return await self._own_boundary().advance(up_to)

    async def drop_trimmed(self, limit: int = 10_000, *, up_to: Position | None = None) -> int:
        """Delete commits up to the boundary; returns how many numbers were gone through, 0 when done.

        The caller has waited ``retire_grace`` since ``trim`` returned.

        Args:
            limit: the most commits of one call.
            up_to: delete none behind it, wherever the boundary is by now.
        """
        return await self._own_boundary().delete(limit, up_to=None if up_to is None else up_to.commit)

    def _own_boundary(self) -> LogBoundary:
        if not isinstance(self._boundary, LogBoundary):
            raise ValueError(f"the log {self.name!r} was not opened as one that can be trimmed; pass trimmable=True")
        return self._boundary

    async def _put(
        self, records: Sequence[bytes], after: Position, writer: str, epoch: int, verify: bool | None
    ) -> Appended | Taken:
        world, store = self._world, self._documents.store
        number, token = after.commit + 1, world.token()
        at = str(world.now())
        key = commit_key(self.name, number)
        data = encode_commit(first=after.seq + 1, writer=writer, epoch=epoch, at=at, token=token, records=records)

        def mine(found: Object) -> Won | None:
            return Won(found.version) if decode_commit(key, number, found.data).id == token else None

        asked_s = world.boottime_s()
        if verify is None:
            verify = not self._is_fresh(after)
        settled = await settle(store, world, key, lambda: store.put(key, data, if_absent=True), created(mine))
        if not isinstance(settled.result, Won):
            taken = await self._who_took(key, number, settled.seen)
            self._learn(taken.position, asked_s)
            return Taken((taken,))
        # Checked after the answer as well: the wait may have been the long part.
        if self._boundary is not None and (verify or world.boottime_s() - asked_s > self._stale_s):
            await self._fence(self._boundary, number, key, settled.result.version)
        commit = decode_commit(key, number, data)
        self._learn(commit.position, asked_s)
        return Appended(commit.position, commit)

    async def _who_took(self, key: str, number: int, seen: Object | None) -> Commit:
        found = seen or await persist(self._world, lambda: self._documents.store.get(key))
        if found is None:
            raise LogFenced(
                f"Commit {number} of the log {self.name!r} was written by another and trimmed away", _FENCED
            )
        return decode_commit(key, number, found.data)

    async def _fence(self, boundary: Boundary, number: int, key: str, version: str) -> None:
        """Take back a win at a freed number."""
        try:
            limit = await boundary.read()
        except StoreError as error:
            raise OutcomeUnknown(
                f"Whether commit {number} of the log {self.name!r} counts is unknown", _FENCED
            ) from error
        if limit is None or number > limit.commit:
            return
        self._tail = None
        cause: CairnError | None = None
        try:
            await persist(self._world, lambda: self._documents.store.delete(key, if_version=version))
        except StoreError as error:
            cause = error  # it stays as garbage below the boundary, where nobody reads
        raise LogFenced(f"Commit {number} of the log {self.name!r} lies below its boundary", _FENCED) from cause

    def _is_fresh(self, position: Position) -> bool:
        """Whether ``position`` is the tail, learned so lately that nothing behind it can be deleted."""
        return position == self._tail and self._world.boottime_s() - self._learned_s <= self._stale_s

    def _learn(self, tail: Position, asked_s: float) -> None:
        if self._tail is None or tail >= self._tail:
            self._tail, self._learned_s = tail, asked_s


_FENCED = "Stop; read the log from its boundary and begin again"


def _encoded(records: Sequence[Mapping[str, JSON]]) -> list[bytes]:
    if not records:
        raise NotStorable("A commit needs at least one record", "Append something, or nothing at all")
    encoded: list[bytes] = []
    for index, record in enumerate(records):
        try:
            encoded.append(to_msgpack(dict(record)))
        except NotStorable as error:
            raise NotStorable(f"Record {index} of the append: {error.fact}", error.advice) from error
    return encoded
