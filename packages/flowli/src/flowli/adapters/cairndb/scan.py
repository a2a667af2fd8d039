"""Reading many keys: listings page by page, and documents side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from flowli.cairn.objects import Doc, Documents
from flowli.cairn.store import Listed, Page

__all__ = ["delete_prefix", "list_keys", "list_page", "pages", "read_all"]

_SIDE_BY_SIDE = 64


async def list_page(
    documents: Documents, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
) -> Page:
    """One page of a listing. One request."""
    return await documents.list(prefix, after=after, limit=limit, versions=versions)


async def pages(documents: Documents, prefix: str) -> AsyncIterator[tuple[Listed, ...]]:
    """All pages of a listing, one request each; the next one is asked for when it is wanted."""
    after: str | None = None
    while True:
        page = await list_page(documents, prefix, after=after)
        yield page.items
        if not page.more or not page.items:
            return
        after = page.items[-1].key


async def list_keys(documents: Documents, prefix: str, limit: int | None = None) -> list[str]:
    """The first keys under a prefix, in order."""
    keys: list[str] = []
    after: str | None = None
    while limit is None or len(keys) < limit:
        page = await list_page(documents, prefix, after=after, limit=None if limit is None else limit - len(keys))
        keys.extend(item.key for item in page.items)
        if not page.more or not page.items:
            break
        after = keys[-1]
    return keys


async def read_all(documents: Documents, keys: Sequence[str]) -> list[Doc]:
    """The documents under ``keys`` that are still there, in the order of ``keys``."""
    found: list[Doc] = []
    for at in range(0, len(keys), _SIDE_BY_SIDE):
        docs = await asyncio.gather(*map(documents.read, keys[at : at + _SIDE_BY_SIDE]))
        found.extend(doc for doc in docs if doc is not None)
    return found


async def delete_prefix(documents: Documents, prefix: str) -> None:
    """Delete everything under a prefix, without conditions. For retention."""
    async for items in pages(documents, prefix):
        await documents.delete_many(item.key for item in items)
