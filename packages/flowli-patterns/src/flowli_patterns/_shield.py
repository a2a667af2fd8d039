"""Clean-up that is carried through although cancels arrive meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["finish"]

T = TypeVar("T")


async def finish(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Await ``work`` to its end whatever cancels come meanwhile.

    Returns:
        Its result, and whether a cancel came: the caller passes that on.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except Exception:
            break  # it is that of the work, raised below
    return task.result(), cancelled
