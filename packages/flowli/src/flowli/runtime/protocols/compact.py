"""Trimming what only grows: the control log and the global channels. Only who holds the lease of retention does it.

1. Delete what was declared unneeded at least ``retire_grace_s`` ago, up to the places that the state of the lease
   names. *Crash in it*: the next run deletes the rest.
2. Declare anew. Of the entries of the control log that are older than ``control_ttl_s``, those stay that a new observer
   still needs (``Keeper``); messages on global channels stay for ``message_ttl_s``. *Crash after some*: the next run
   declares again, further.
3. Remember the places and the instant in the state of the lease. So nothing is deleted before its grace has passed
   since it was declared, whichever process does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.runtime.config import EngineConfig
from flowli.runtime.keeper import Keeper
from flowli.timestamp import Timestamp

__all__ = ["Declared", "declare", "drop"]

_PAGE = 1000
_WORTH_ENTRIES = 1000


@dataclass(slots=True)
class Declared:
    """What was declared unneeded, and when.

    Attributes:
        control: up to where the control log is compacted.
        channels: up to where each global channel is trimmed; all that are known are named.
        entries, messages: how many were declared by this run.
    """

    at: Timestamp | None = None
    control: Position = START
    channels: dict[str, Position] = field(default_factory=dict)
    entries: int = 0
    messages: int = 0

    @classmethod
    def of(cls, state: Data) -> Declared:
        """As the state of the lease remembers it."""
        if not isinstance(state, dict) or not isinstance(state.get("at"), str):
            return cls()
        channels = cast("dict[str, list[int]]", state.get("channels", {}))
        control = cast("list[int]", state.get("control", [0, 0]))
        places = {name: Position(*place) for name, place in channels.items()}
        return cls(Timestamp.parse(str(state["at"])), Position(*control), places)

    def to_data(self) -> Data:
        """For the state of the lease."""
        if self.at is None:
            return None
        channels: dict[str, Data] = {name: [at.commit, at.seq] for name, at in self.channels.items()}
        return {"at": str(self.at), "control": [self.control.commit, self.control.seq], "channels": channels}


async def drop(ports: Ports, declared: Declared) -> None:
    """Step 1; the caller has waited ``retire_grace_s`` since ``declared.at``."""
    if declared.control > START:
        await ports.control.drop(declared.control)
    for channel, place in declared.channels.items():
        if place > START:
            await ports.channel.drop(channel, place)


async def declare(
    ports: Ports,
    config: EngineConfig,
    earlier: Declared,
    channels: Iterable[str],
    done: Mapping[Eid, int],
    now: Timestamp,
) -> Declared:
    """Step 2.

    Args:
        channels: global ones that are known now.
        done: executions of which nothing is left but entries of the control log, with the number of the last of these.
    """
    declared = Declared(now, earlier.control, dict.fromkeys(channels, START) | earlier.channels)
    old = now + timedelta(seconds=-config.message_ttl_s)
    for channel, place in declared.channels.items():
        trimmed, count = await _trim(ports, channel, place, old)
        declared.channels[channel] = trimmed
        declared.messages += count
    await _compact(ports, declared, done, now + timedelta(seconds=-config.control_ttl_s))
    return declared


async def _trim(ports: Ports, channel: str, place: Position, old: Timestamp) -> tuple[Position, int]:
    """Trim a channel up to the last commit whose messages are all older than ``old``."""
    reached, count, after = place, 0, place
    while True:
        page = (await ports.channel.read(channel, after=after, limit=_PAGE)).messages
        young = next((message for message in page if message.sent_by.at > old), None)
        whole = [message for message in page if young is None or message.commit < young.commit]
        if whole:
            reached, count = Position(whole[-1].commit, whole[-1].seq), count + len(whole)
        if not page or young is not None:
            break
        after = reached
    return (await ports.channel.trim(channel, reached), count) if count else (place, 0)


async def _compact(ports: Ports, declared: Declared, done: Mapping[Eid, int], old: Timestamp) -> None:
    """Compact the control log up to the last page whose entries are all older than ``old``, if that is worth it."""
    keeper, place = Keeper(done), START
    while True:
        found = await ports.control.read(after=place, limit=_PAGE)
        if not found.entries or any(entry.at > old for entry in found.entries):
            break
        for entry in found.entries:
            keeper.add(entry)
        place = found.position
        if found.caught_up:
            break
    if place > declared.control and keeper.dropped >= _WORTH_ENTRIES:
        declared.control = await ports.control.compact(place, keeper.kept())
        declared.entries = keeper.dropped
