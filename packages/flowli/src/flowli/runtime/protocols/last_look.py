"""A last look at an execution that had more than one owner, well after its end.

An owner that froze, or whose request was under way for long, can write a wait marker after another owner has ended the
execution. No entry tells of that marker; it would tell senders that somebody still receives.

1. Read the journal, or the archive.
2. Remove the markers on every channel on which the execution has received. *Crash before it*: the sweeper that follows
   the control log from the beginning looks again.
"""

from __future__ import annotations

from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.runtime.protocols.standing import find_standing

__all__ = ["last_look"]


async def last_look(ports: Ports, eid: Eid) -> int:
    """Do it; returns how many markers were removed."""
    standing = await find_standing(ports, eid)
    if standing is None or not standing.ended:
        return 0
    removed = 0
    for channel in sorted(standing.fold.received_on()):
        removed += await ports.channel.unmark(channel, eid, up_to_epoch=standing.fold.epoch)
    return removed
