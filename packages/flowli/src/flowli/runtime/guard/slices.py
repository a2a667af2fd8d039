"""Which threads run workflow code at this moment: what the determinism guard and the watchdog go by."""

from __future__ import annotations

from threading import get_ident

__all__ = ["Slice", "begin", "by_thread", "end", "here"]


class Slice:
    """One uninterrupted stretch of workflow code.

    Attributes:
        name: the execution.
        thread: identifies the thread that runs it.
        around: the slice in which it was begun, if any.
    """

    __slots__ = ("around", "name", "thread")

    def __init__(self, name: str, thread: int, around: Slice | None) -> None:
        self.name = name
        self.thread = thread
        self.around = around


by_thread: dict[int, Slice] = {}
"""The slices of all threads; empty, so that asking costs next to nothing, whenever no workflow code runs."""


def begin(name: str) -> Slice:
    """A slice begins in this thread."""
    thread = get_ident()
    begun = by_thread[thread] = Slice(name, thread, by_thread.get(thread))
    return begun


def end(slice_: Slice) -> None:
    """The slice is over."""
    if slice_.around is None:
        by_thread.pop(slice_.thread, None)
    else:
        by_thread[slice_.thread] = slice_.around


def here() -> bool:
    """Whether this thread runs workflow code."""
    return bool(by_thread) and get_ident() in by_thread
