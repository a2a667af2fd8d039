"""What ``flowli explain`` says of an execution that waits for votes."""

from __future__ import annotations

from flowli import Explanation, Inspection, Moves, NextAction
from flowli.domain.channels import scoped_channel
from flowli.domain.ports import Ports
from flowli.domain.waits import OnChannel
from flowli_pattern_vote.box import Box

__all__ = ["open_ballot"]


async def open_ballot(inspection: Inspection, ports: Ports) -> Explanation | None:
    """The vote that the execution waits for; None if it waits for something else."""
    waits = [wait.on.channel for wait in inspection.waits if isinstance(wait.on, OnChannel)]
    if not any("_vote-" in channel for channel in waits):
        return None
    box = Box()
    await box.catch_up(ports.control)
    for ballot in box.open.values():
        if ballot.eid == inspection.eid and scoped_channel(ballot.eid, ballot.channel) in waits:
            who, what = ", ".join(ballot.voters), ballot.subject
            return Explanation(
                eid=ballot.eid,
                reason="open",
                sentence=f"It waits for votes of {who} about '{what}', until {ballot.end}.",
                moves=Moves.OUTSIDE,
                actions=(NextAction("vote", f"engine.ballots.cast({ballot.eid}, VOTER, CHOICE)", ("VOTER", "CHOICE")),),
            )
    return None
