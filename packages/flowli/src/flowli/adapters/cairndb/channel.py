"""``Channel`` over one log per channel, and one document per wait marker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from flowli.adapters.cairndb.opened import CairnPort, Opened, port_method
from flowli.adapters.cairndb.records import from_log, to_log
from flowli.adapters.cairndb.scan import delete_prefix, list_keys, read_all
from flowli.cairn.commit import log_prefix
from flowli.cairn.errors import LogTrimmed
from flowli.cairn.log import Commit, Log
from flowli.cairn.log import Position as LogPosition
from flowli.cairn.objects import Created, Doc, Swapped
from flowli.cairn.values import JSON
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports.channel import Messages

__all__ = ["CairnChannel"]

_REMEMBERED = 2048


class CairnChannel(CairnPort):
    """Channels and their wait markers."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        # markers as they were written here last, so that removing one costs no read
        self._written: OrderedDict[str, Doc] = OrderedDict()

    @port_method
    async def send(self, message: Message) -> Message:
        record = cast("Mapping[str, JSON]", dump(replace(message, seq=0, commit=0)))
        position = await self._log(message.channel).append_next([record], self._opened.writer)
        return replace(message, seq=position.seq, commit=position.commit)

    @port_method
    async def read(self, channel: str, *, after: Position = START, limit: int | None = None) -> Messages:
        log = self._log(channel)
        try:
            chunk = await log.read(to_log(after), limit)
        except LogTrimmed as trimmed:
            chunk = await log.read(LogPosition(trimmed.commit, trimmed.seq), limit)
        messages = tuple(message for commit in chunk.commits for message in _messages(commit))
        return Messages(messages, from_log(chunk.position))

    @port_method
    async def end(self, channel: str) -> Position:
        log = self._log(channel)
        if log.tail is None:
            return from_log(await log.find_tail())
        # from a known tail the next number is enough, most of the time
        return from_log((await log.read(log.tail)).position)

    @port_method
    async def mark(self, marker: WaitMarker) -> bool:
        body = dump(marker)
        outcome = await self._documents.create(keys.marker(marker.channel, marker.eid), body)
        if isinstance(outcome, Created):
            self._remember(outcome.doc)
            return True
        doc: Doc | None = outcome.doc
        while doc is not None:
            if _marker(doc).epoch > marker.epoch:
                return False
            swapped = await self._documents.swap(doc, body)
            if isinstance(swapped, Swapped):
                self._remember(swapped.doc)
                return True
            doc = swapped.doc
        return await self.mark(marker)

    @port_method
    async def unmark(self, channel: str, eid: Eid, *, up_to_epoch: int) -> bool:
        key = keys.marker(channel, eid)
        known = self._written.pop(key, None)
        if known is not None and _marker(known).epoch <= up_to_epoch and await self._documents.remove(known):
            return True
        while True:
            doc = await self._documents.read(key)
            if doc is None or _marker(doc).epoch > up_to_epoch:
                return False
            if await self._documents.remove(doc):
                return True

    @port_method
    async def marker(self, channel: str, eid: Eid) -> WaitMarker | None:
        doc = await self._documents.read(keys.marker(channel, eid))
        return None if doc is None else _marker(doc)

    @port_method
    async def markers(self, channel: str) -> Sequence[WaitMarker]:
        found = await list_keys(self._documents, keys.marker_prefix(channel))
        return [_marker(doc) for doc in await read_all(self._documents, found)]

    @port_method
    async def redact(self, message: Message) -> None:
        def change(records: list[JSON]) -> list[JSON]:
            return [_without_payload(record, message.id) for record in records]

        await self._log(message.channel).redact(message.commit, change)

    @port_method
    async def trim(self, channel: str, up_to: Position) -> Position:
        return from_log(await self._log(channel).trim(to_log(up_to)))

    @port_method
    async def drop(self, channel: str, up_to: Position) -> None:
        while await self._log(channel).drop_trimmed(up_to=to_log(up_to)):
            pass

    @port_method
    async def delete(self, channel: str) -> None:
        await delete_prefix(self._documents, keys.marker_prefix(channel))
        await delete_prefix(self._documents, log_prefix(keys.channel_log(channel)))

    @port_method
    async def delete_own(self, eid: Eid) -> None:
        markers, logs = keys.own_channels(eid)
        await delete_prefix(self._documents, markers)
        await delete_prefix(self._documents, logs)

    def _remember(self, doc: Doc) -> None:
        self._written[doc.key] = doc
        self._written.move_to_end(doc.key)
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _log(self, channel: str) -> Log:
        # the channel of an execution goes as a whole with it; a global one is trimmed behind a boundary
        return self._cairn.log(keys.channel_log(channel), trimmable="." not in channel)


def _messages(commit: Commit) -> list[Message]:
    return [
        replace(load(Message, record), seq=commit.first + offset, commit=commit.number)
        for offset, record in enumerate(commit.records)
    ]


def _without_payload(record: JSON, message_id: str) -> JSON:
    """The record of a message without its payload, if it is that of ``message_id``."""
    if not isinstance(record, dict) or record.get("id") != message_id or record.get("payload") is None:
        return record
    return {**record, "payload": None}


def _marker(doc: Doc) -> WaitMarker:
    return load(WaitMarker, doc.body)
