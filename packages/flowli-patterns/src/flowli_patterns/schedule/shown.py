"""How schedules are shown in JSON, on the command line and over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowli.domain.data import Data
    from flowli_patterns.schedule.verbs import ScheduleView

__all__ = ["view_data"]


def view_data(view: ScheduleView) -> dict[str, Data]:
    """A schedule in its JSON form."""
    return {
        **view.schedule.to_data(),
        "revision": view.revision,
        "decided_upto": str(view.decided_upto),
        "next": [str(slot) for slot in view.next],
        "runs": [{"slot": str(one.slot), "eid": str(one.eid)} for one in view.runs],
        "running": view.running,
        "left_out": view.left_out,
        "why": view.why,
    }
