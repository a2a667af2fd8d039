"""``Box``: the votes that are held, folded from the control log. Everybody who needs them keeps one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowli.domain.control_entries import Announced, ControlEntry, StatusChanged
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import ControlLog
from flowli.timestamp import Timestamp

__all__ = ["Ballot", "Box"]


@dataclass(frozen=True, slots=True)
class Ballot:
    """A vote that is open."""

    eid: Eid
    node: str
    channel: str
    subject: str
    voters: Sequence[str]
    choices: Sequence[str]
    end: Timestamp


class Box:
    """Follows the control log.

    Attributes:
        open: the ballots that are not closed, by execution and node.
    """

    def __init__(self) -> None:
        self.open: dict[tuple[Eid, str], Ballot] = {}
        self._position: Position = START

    async def catch_up(self, control: ControlLog) -> None:
        """Read what is new."""
        while True:
            found = await control.read(after=self._position)
            for entry in found.entries:
                self.take(entry)
            self._position = found.position
            if found.caught_up:
                return

    def take(self, entry: ControlEntry) -> None:
        """The next entry of the log. What the engine announces for a workflow names the execution."""
        match entry.body:
            case Announced(topic="ballot", data=dict(data), eid=eid) if eid is not None:
                fields: dict[str, Any] = {**data}
                self.open[eid, fields["node"]] = Ballot(
                    eid,
                    fields["node"],
                    fields["channel"],
                    fields["subject"],
                    fields["voters"],
                    fields["choices"],
                    Timestamp.parse(fields["end"]),
                )
            case Announced(topic="ballot-closed", data=dict(data), eid=eid) if eid is not None:
                self.open.pop((eid, str(data.get("node"))), None)
            case StatusChanged(eid=eid, status=status) if status.terminal:
                # cancelled or terminated while it waited: the workflow had no say any more
                self.open = {key: ballot for key, ballot in self.open.items() if ballot.eid != eid}
            case _:
                return
