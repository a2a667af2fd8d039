"""Ages by the clock of a service. Two of its own instants make an age that no skew between hosts can falsify."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

__all__ = ["age_s", "instant"]


def instant(headers: Mapping[str, str], name: str = "Date") -> datetime | None:
    """The instant in a header of an answer; None if it tells none."""
    try:
        return parsedate_to_datetime(headers[name])
    except (KeyError, ValueError):
        return None


def age_s(written: datetime | None, now: datetime | None) -> float | None:
    """Seconds between the writing of an object and the answer that tells of it; None if either is not known."""
    return None if written is None or now is None else max(0.0, (now - written).total_seconds())
