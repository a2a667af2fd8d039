"""Which threads run workflow code at this moment: what the determinism guard and the watchdog go by."""

from __future__ import annotations

from dataclasses import dataclass
from threading import get_ident

__all__ = ["Slice", "begin", "end", "here", "under_way"]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """One uninterrupted stretch of workflow code.

    Attributes:
        name: the execution.
        thread: identifies the thread that runs it.
        around: the slice in which it was begun, if any.
    """

    name: str
    thread: int
    around: Slice | None


_by_thread: dict[int, Slice] = {}


def begin(name: str) -> Slice:
    """A slice begins in this thread."""
    thread = get_ident()
    begun = _by_thread[thread] = Slice(name, thread, _by_thread.get(thread))
    return begun


def end(slice_: Slice) -> None:
    """The slice is over."""
    if slice_.around is None:
        _by_thread.pop(slice_.thread, None)
    else:
        _by_thread[slice_.thread] = slice_.around


def here() -> Slice | None:
    """The slice that this thread runs, if it runs one."""
    return _by_thread.get(get_ident())


def under_way() -> list[Slice]:
    """The slices of all threads."""
    return list(_by_thread.values())
