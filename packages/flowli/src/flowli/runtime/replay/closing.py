"""Closing code that will not run on: from the innermost ``await`` outwards, and never by the garbage collector.

``coroutine.close()`` alone is not enough. When an inner coroutine awaits something on its way out, the outer one ends
with ``RuntimeError`` and the inner one is left to the collector, which would let it run on at any place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

__all__ = ["close_coroutine", "close_generator"]

_TRIES = 100
_held_for_ever: list[object] = []


def close_coroutine(coro: object) -> None:
    """Leave a suspended coroutine, and all that it awaits, by ``GeneratorExit``. What it raises is dropped."""
    for one in reversed(list(_chain(coro))):
        if not _leave(one):
            _held_for_ever.append(coro)
            return


def close_generator(generator: AsyncGenerator[Any, Any]) -> None:
    """The same for an async generator that nobody iterates any more."""
    for one in reversed(list(_chain(getattr(generator, "ag_await", None)))):
        _leave(one)
    closing: Any = generator.aclose()
    try:
        awaited = closing.send(None)
    except BaseException:
        return
    _unblock(awaited)
    if not _leave(closing):
        _held_for_ever.append((generator, closing))


def _chain(code: object) -> Iterator[Any]:
    """``code``, what it awaits, what that awaits, and so on, as far as it is code."""
    while code is not None and hasattr(code, "throw") and type(code).__name__ != "FutureIter":
        yield code
        code = getattr(code, "cr_await", None) or getattr(code, "gi_yieldfrom", None)


def _leave(code: Any) -> bool:
    """Whether it could be left: where it awaits something on its way out, it is left again."""
    for _ in range(_TRIES):
        try:
            awaited = code.throw(GeneratorExit)
        except BaseException:
            return True
        _unblock(awaited)
    return False


def _unblock(awaited: Any) -> None:
    if asyncio.isfuture(awaited):
        awaited._asyncio_future_blocking = False  # as a task does when it begins to wait
