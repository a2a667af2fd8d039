"""Delivering a message to a channel and waking who waits on it.

1. A message with an id that may have been sent before is looked for in the channel; if it is there, step 2 is skipped.
2. Append the message. *Crash after it*: the message counts and is consumed by the next receive, but nobody may be awake
   to do so. The same send again, or the audit of the sweeper, does steps 3 and 4.
3. Read the wait marker (all markers, for a channel that belongs to no execution). The order is what matters: a receiver
   writes its marker first and looks at the channel second, so one of the two sees the other. Without a marker nobody
   sleeps: whoever waits later finds the message.
4. Enqueue a RESUME for each marker. Its key names the message, so that repeating the step changes nothing. *Crash after
   some*: as after step 2, for the others.
5. Wake what waits in this process: the owner of the execution, the workers of the queue.

A sender that saw the marker before step 2 (``seen``) needs no second look: a RESUME that follows the message wakes the
execution whatever became of the marker.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.errors import NotAllowed, UnknownExecution
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.hub import Hub
from flowli.runtime.protocols.standing import find_standing
from flowli.runtime.protocols.wake import MessageCause, resume_task

__all__ = ["check_receiver", "deliver", "sent_before"]


async def check_receiver(ports: Ports, eid: Eid, channel: str) -> WaitMarker | None:
    """Make sure that a message to ``eid`` can still be received; returns the wait marker if one stands.

    A marker alone proves that the execution lives, so that a signal to a waiting execution costs one read.

    Args:
        channel: the full name.

    Raises:
        UnknownExecution: there is no such execution.
        NotAllowed: it has ended.
    """
    marker = await ports.channel.marker(channel, eid)
    if marker is not None:
        return marker
    standing = await find_standing(ports, eid)
    if standing is None:
        raise UnknownExecution(eid)
    if standing.ended:
        raise NotAllowed(
            f"execution {eid} has ended and receives no more messages; `flowli show {eid}` tells how it ended"
        )
    return None


async def deliver(
    ports: Ports,
    hub: Hub,
    message: Message,
    *,
    eid: Eid | None,
    by: Provenance,
    search_after: Position | None = None,
    seen: WaitMarker | None = None,
) -> Message:
    """Deliver ``message``; returns it as it stands in the channel, with its ``seq``.

    Args:
        eid: whose channel it is; None for a channel that belongs to no execution: everyone who waits on it is woken.
        by: who puts the RESUME tasks.
        search_after: look for the id of the message after this position before sending; None for an id that is new.
        seen: the marker, if the caller has read it.
    """
    sent = None if search_after is None else await sent_before(ports, message, search_after)
    if sent is None:
        sent = await ports.channel.send(message)
    for marker in await _markers(ports, message.channel, eid, seen):
        await ports.queue.enqueue(
            resume_task(
                queue=marker.queue,
                priority=marker.priority,
                eid=marker.eid,
                cause=MessageCause(sent.channel, sent.seq),
                at=sent.sent_by.at,
                by=by,
            )
        )
        hub.wake_queue(marker.queue)
        hub.wake_execution(marker.eid, MessageCause(sent.channel, sent.seq).key)
    if eid is not None:
        hub.wake_execution(eid, MessageCause(sent.channel, sent.seq).key)
    return sent


async def sent_before(ports: Ports, message: Message, search_after: Position = START) -> Message | None:
    """The message with the id of ``message`` that stands in its channel after a position, if there is one."""
    found = await ports.channel.read(message.channel, after=search_after)
    return next((other for other in found.messages if other.id == message.id), None)


async def _markers(ports: Ports, channel: str, eid: Eid | None, seen: WaitMarker | None) -> Sequence[WaitMarker]:
    if seen is not None:
        return (seen,)
    if eid is None:
        return await ports.channel.markers(channel)
    marker = await ports.channel.marker(channel, eid)
    return () if marker is None else (marker,)
