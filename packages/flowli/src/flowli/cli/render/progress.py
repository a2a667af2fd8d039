"""What a person sees on a terminal while long work goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowli.cli.render.screen import Screen

__all__ = ["bar", "spinner"]


@contextmanager
def bar(screen: Screen, what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar that is gone when the work is done; its value is called once for each thing that is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen.console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def spinner(screen: Screen, what: str) -> Iterator[None]:
    """Shows a person that something goes on of which nobody knows how much it is, and for how long already."""
    if not screen.terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=screen.console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield
