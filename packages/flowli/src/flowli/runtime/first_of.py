"""Waiting for whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

__all__ = ["first_of"]


async def first_of(*awaited: Awaitable[object]) -> None:
    """Wait until one of them is done, and cancel the others."""
    futures = [asyncio.ensure_future(one) for one in awaited]
    try:
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in futures:
            future.cancel()
