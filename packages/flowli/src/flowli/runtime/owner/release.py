"""``Release``: how an ownership ended."""

from __future__ import annotations

from enum import Enum

__all__ = ["Release"]


class Release(Enum):
    """How an ownership ended."""

    SUSPENDED = "suspended"
    ENDED = "ended"
    HANDED_OVER = "handed_over"
