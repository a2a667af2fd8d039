"""The live view: a table and the latest events on a terminal, one line per event when piped."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from flowli.cli.dev.events import Event
from flowli.cli.dev.feed import Feed, Seen
from flowli.cli.render import words
from flowli.cli.render.screen import Cell, Screen, aligned

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from flowli.timestamp import Timestamp

__all__ = ["LinesView", "TerminalView"]

_EXECUTIONS, _EVENTS = 12, 12


class LinesView:
    """One line per event."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def __enter__(self) -> LinesView:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def update(self, feed: Feed, events: list[Event], now: Timestamp) -> None:
        """Write what is new."""
        for event in events:
            if self._screen.json_wanted:
                eid = None if event.eid is None else str(event.eid)
                line = {"at": str(event.at), "eid": eid, "workflow": event.workflow, "text": event.text}
                self._screen.json_line(dict(line))
            else:
                self._screen.line(*event.cells())


class TerminalView:
    """The newest executions with their status, and below them the latest events; drawn anew in place."""

    def __init__(self, screen: Screen, title: str) -> None:
        from rich.live import Live

        self._screen = screen
        self._title = title
        self._events: deque[Event] = deque(maxlen=_EVENTS)
        self._live: Live = Live(console=screen.console, auto_refresh=False, transient=False)

    def __enter__(self) -> TerminalView:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def update(self, feed: Feed, events: list[Event], now: Timestamp) -> None:
        """Draw the present state."""
        self._events.extend(events)
        self._live.update(self._drawn(feed, now), refresh=True)

    def _drawn(self, feed: Feed, now: Timestamp) -> Group:
        from rich.console import Group
        from rich.text import Text

        newest = self._newest(feed)
        told = [event.eid for event in self._events if event.eid]
        ids = words.prefixes([*(seen.eid for seen in newest), *told])
        rows = [_row(seen, ids[seen.eid], now) for seen in newest]
        lines: list[list[Cell]] = [
            self._head(feed),
            [],
            *aligned(("EXECUTION", "WORKFLOW", "STATUS", "SINCE", "LAST"), rows),
            [],
            *(event.cells(ids[event.eid] if event.eid else "-") for event in self._events),
        ]
        return Group(*(Text.assemble(*cells, no_wrap=True, overflow="ellipsis") for cells in lines))

    def _head(self, feed: Feed) -> list[Cell]:
        counts = Counter(seen.status.value for seen in feed.executions.values())
        cells: list[Cell] = [(self._title, "bold")]
        for status, count in counts.items():
            cells += [(f"   {count} ", "dim"), words.status(status)]
        return cells

    def _newest(self, feed: Feed) -> list[Seen]:
        """The newest executions; those that have not ended come before those that have."""
        newest = list(feed.executions.values())[-200:]
        newest.sort(key=lambda seen: (seen.status.terminal, -(seen.changed_at or seen.created_at).us))
        return newest[:_EXECUTIONS]


def _row(seen: Seen, eid: str, now: Timestamp) -> list[Cell]:
    since = words.duration(now - (seen.changed_at or seen.created_at))
    return [eid, seen.workflow, words.status(seen.status.value), since, seen.detail]
