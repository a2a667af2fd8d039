"""All keys of an installation, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from flowli.cairn.layout import LAYOUT_KEY
from flowli.cairn.objects import Documents
from flowli.cairn.store import Listed

__all__ = ["AT_ONCE", "all_keys", "in_parallel", "keys_under"]

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE = 16
"""How many objects are under way at once."""

_ROOTS = ("logs/", "wf/")
_BESIDES = ("wf/copy/", "wf/probe/", LAYOUT_KEY)


async def keys_under(documents: Documents, prefix: str) -> AsyncIterator[Listed]:
    """Every key with a prefix, in byte order, with its version."""
    after: str | None = None
    while True:
        page = await documents.list(prefix, after=after, versions=True)
        for one in page.items:
            yield one
        if not page.more or not page.items:
            return
        after = page.items[-1].key


async def all_keys(documents: Documents) -> AsyncIterator[Listed]:
    """Every key that belongs to an installation, but for its layout, which says whose the bucket is."""
    for root in _ROOTS:
        async for one in keys_under(documents, root):
            if not one.key.startswith(_BESIDES):
                yield one


async def in_parallel(items: Sequence[T], work: Callable[[T], Awaitable[R]], at_once: int = AT_ONCE) -> list[R]:
    """The results of ``work`` for all items, a few under way at a time; the first error ends it."""
    waiting = iter(enumerate(items))
    results: dict[int, R] = {}

    async def go_on() -> None:
        for number, item in waiting:
            results[number] = await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(items))):
                group.create_task(go_on())
    except* Exception as errors:
        raise errors.exceptions[0] from None
    return [results[number] for number in range(len(items))]
