"""One turn of the event loop: what a request to a storage is, seen from the caller."""

from __future__ import annotations

from collections.abc import Generator

__all__ = ["turn"]


class _Turn:
    def __await__(self) -> Generator[None, None, None]:
        yield


def turn() -> _Turn:
    """Await it to let everything else that is ready go first."""
    return _Turn()
