"""Near matches for names that were looked up in vain."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["near"]


def near(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The end of a sentence that proposes what was meant.

    Args:
        name: what was looked up.
        known: what exists.
        likeness: from 0 to 1, how near is near enough; higher where all names share a beginning.

    Returns:
        ``"; did you mean 'file'?"`` with up to three names, the nearest first, or ``""`` if none is near.
    """
    from difflib import get_close_matches

    matches = [repr(match) for match in get_close_matches(name, sorted(set(known)), cutoff=likeness)]
    return f"; did you mean {' or '.join(matches)}?" if matches else ""
