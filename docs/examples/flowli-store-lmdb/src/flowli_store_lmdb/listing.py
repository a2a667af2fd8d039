"""Listings: LMDB keeps its keys sorted by bytes, which is the order that flowli asks for."""

from __future__ import annotations

import lmdb

from flowli.cairn.store import Listed, Page
from flowli_store_lmdb.records import HEAD_BYTES, names


def page_of(env: lmdb.Environment, prefix: str, after: str, size: int) -> Page:
    """The first ``size`` keys that start with ``prefix`` and sort after ``after``; one more is looked for."""
    start, beyond = max(prefix, after).encode("ascii"), after.encode("ascii")
    wanted = prefix.encode("ascii")
    items: list[Listed] = []
    with env.begin(buffers=True) as txn, txn.cursor() as cursor:
        more = cursor.set_range(start[:HEAD_BYTES]) if start else cursor.first()
        while more and len(items) <= size:
            head = bytes(cursor.key())
            if not head.startswith(wanted[:HEAD_BYTES]):
                break
            keys = ((head + tail, version) for tail, version in names(cursor.value()))
            items += [Listed(key.decode(), version) for key, version in keys if key.startswith(wanted) and key > beyond]
            more = cursor.next()
    return Page(tuple(items[:size]), len(items) > size)
