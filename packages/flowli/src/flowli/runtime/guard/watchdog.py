"""``Watchdog``: reports workflow code that keeps its worker waiting, with the line at which it is.

It looks at the slices from beside the worker's loop. A slice that it sees for two seconds is reported, and again each
time the time has doubled. Looking costs a slice nothing.
"""

from __future__ import annotations

import sys
import traceback
from types import FrameType

import structlog

from flowli.runtime.guard.callers import is_project_code
from flowli.runtime.guard.slices import Slice, by_thread
from flowli.world import Background, World

__all__ = ["Watchdog"]

_log = structlog.get_logger("flowli.watchdog")
_LOOK_S = 0.5
_STACK_LINES = 10


class Watchdog:
    """See the module's docstring.

    Args:
        longest_s: a slice may take so long.
    """

    def __init__(self, world: World, *, longest_s: float = 2.0) -> None:
        self._world = world
        self._longest_s = longest_s
        self._seen: dict[Slice, tuple[float, float]] = {}
        self._background: Background | None = None

    def start(self) -> None:
        """Begin to look."""
        if self._background is None:
            self._background = self._world.background("flowli-watchdog", self._run)

    def stop(self) -> None:
        """End."""
        if self._background is not None:
            self._background.stop()
            self._background = None

    async def _run(self) -> None:
        while True:
            self.look()
            await self._world.sleep(min(_LOOK_S, self._longest_s / 4))

    def look(self) -> None:
        """Look once at every slice under way, and report those that take too long."""
        now_s = self._world.monotonic_s()
        under_way = tuple(by_thread.copy().values())
        self._seen = {one: self._seen.get(one, (now_s, self._longest_s)) for one in under_way}
        for one, (since_s, report_after_s) in self._seen.items():
            if now_s - since_s >= report_after_s:
                self._seen[one] = (since_s, 2 * report_after_s)
                self._report(one, now_s - since_s)

    def _report(self, one: Slice, for_s: float) -> None:
        top = sys._current_frames().get(one.thread)
        at = _line(top)
        if one is not by_thread.get(one.thread):
            return  # it ended meanwhile, and the frame is that of something else
        _log.warning(
            "workflow code keeps the worker waiting; do what takes long in a step",
            eid=one.name,
            seconds=round(for_s, 1),
            at=at,
            stack="".join(traceback.format_stack(top, _STACK_LINES)),
        )


def _line(frame: FrameType | None) -> str:
    """``file:line in function`` of the innermost code of the project, or of the innermost at all."""
    found = frame
    while found is not None and not is_project_code(found):
        found = found.f_back
    found = found or frame
    return "?" if found is None else f"{found.f_code.co_filename}:{found.f_lineno} in {found.f_code.co_name}"
