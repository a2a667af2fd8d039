"""Steps that leave a trace."""

from __future__ import annotations

from flowli import step_info
from flowli.domain.entries import FrameCompleted

from .fleet import Fleet


class Ledger:
    """Steps write here what they do; and that what is remembered is not done again."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ran: list[str] = []
        self.again: list[str] = []

    async def write(self, n: int, pause_s: float = 0.0) -> int:
        info = step_info()
        entries = await self.fleet.entries(info.eid)
        if any(isinstance(entry.body, FrameCompleted) and entry.body.fid == info.fid for entry in entries):
            self.again.append(info.fid)
        self.ran.append(info.fid)
        await self.fleet.clock.sleep(pause_s)
        return n
