"""List keys in byte order by walking folders: only those that can hold a key asked for, and no stat of any entry."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator

from flowli.stores.filesystem.names import CUT, OBJECT, decoded, deepest_folder

__all__ = ["keys_under"]


def keys_under(root: str, prefix: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield (key, path of its file) in byte order for the keys that start with ``prefix`` and sort after ``after``.

    Folders are opened as late as possible: everything in a folder sorts at or after the text that the folder stands
    for, so that a heap of texts yields keys in order although folders of cut names interleave with their neighbours.
    """
    folders, base = deepest_folder(prefix)
    heap: list[tuple[str, bool, str]] = [(base, True, "/".join((root, *folders)))]
    while heap:
        text, is_folder, path = heapq.heappop(heap)
        if not is_folder:
            yield text, path
            continue
        found = list(_entries(path, text, prefix, after))
        if len(found) < len(heap):
            for entry in found:
                heapq.heappush(heap, entry)
        else:
            heap += found
            heapq.heapify(heap)


def _entries(folder: str, base: str, prefix: str, after: str) -> Iterator[tuple[str, bool, str]]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return  # removed since, or a file that is none of ours
    for name in names:
        if name.startswith(".") and not base:
            continue
        mark = name[-1]
        if mark == OBJECT:
            key = base + decoded(name[:-1])
            if key > after and key.startswith(prefix):
                yield key, False, f"{folder}/{name}"
            continue
        text = base + (decoded(name[:-1]) if mark == CUT else decoded(name) + "/")
        # Something in it can match, and something in it can sort after.
        if (text.startswith(prefix) or prefix.startswith(text)) and (text > after or after.startswith(text)):
            yield text, True, f"{folder}/{name}"
