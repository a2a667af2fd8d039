"""``Schedule``: what is to be looked at when; taking what is due costs only that."""

from __future__ import annotations

import heapq

from flowli.domain.ids import Eid

__all__ = ["Schedule"]


class Schedule:
    """One instant for each execution, on a monotonic clock."""

    def __init__(self) -> None:
        self._due: dict[Eid, float] = {}
        self._heap: list[tuple[float, Eid]] = []

    def set(self, eid: Eid, due_s: float) -> None:
        """Look at ``eid`` at ``due_s``, and no longer at the instant set before."""
        self._due[eid] = due_s
        heapq.heappush(self._heap, (due_s, eid))

    def drop(self, eid: Eid) -> None:
        """Look at ``eid`` no more."""
        self._due.pop(eid, None)

    def pop(self, now_s: float) -> list[Eid]:
        """Take what is due, earliest first."""
        due: list[Eid] = []
        while self._heap and self._heap[0][0] <= now_s:
            due_s, eid = heapq.heappop(self._heap)
            if self._due.get(eid) == due_s:  # else it was set anew or dropped
                del self._due[eid]
                due.append(eid)
        return due
