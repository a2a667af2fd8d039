"""One pass: what the source has and the target has not is copied, what the source no longer has is removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from flowli.cairn.copying.manifest import Copied, Manifest, digest_of
from flowli.cairn.copying.walk import all_keys, in_parallel
from flowli.cairn.document import is_tombstone
from flowli.cairn.errors import StoreUnavailable
from flowli.cairn.objects import Documents
from flowli.cairn.settle import Patience, persist
from flowli.cairn.write import Unknown

__all__ = ["Progress", "Swept", "sweep", "verify"]

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Is told what is going on, how much of it is done, and how much there is."""

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Swept:
    """What a pass did.

    Attributes:
        keys: how many the source has.
        copied: how many were copied.
        removed: how many were removed from the target.
        size_bytes: of the bodies that were copied.
    """

    keys: int = 0
    copied: int = 0
    removed: int = 0
    size_bytes: int = 0

    @property
    def changed(self) -> bool:
        """Whether the target was not what the source is."""
        return bool(self.copied or self.removed)


async def sweep(source: Documents, target: Documents, manifest: Manifest, progress: Progress) -> Swept:
    """Bring the target up to what the source is now; what changes meanwhile is for the next pass."""
    there: set[str] = set()
    wanted: list[str] = []
    async for one in all_keys(source):
        there.add(one.key)
        known = manifest.get(one.key)
        if known is None or one.version is None or known.version != one.version:
            wanted.append(one.key)
    size = copied = 0
    progress("copy", 0, len(wanted))
    for keys in _pages(wanted):
        done = await in_parallel(keys, partial(_copy, source, target))
        await manifest.note([one for one, _ in done if one is not None], [])
        copied += len(keys)
        size += sum(taken for _, taken in done)
        progress("copy", copied, len(wanted))
    gone = sorted({one.key for one in manifest} - there)
    for keys in _pages(gone):
        await target.delete_many(keys)
        await manifest.note([], keys)
    return Swept(len(there), copied, len(gone), size)


async def verify(source: Documents, target: Documents, manifest: Manifest, progress: Progress) -> tuple[int, int]:
    """Read everything back from the target and compare; mend what differs.

    Returns:
        How many objects are as they were read from the source, and how many had to be mended.
    """
    expected = [one for one in manifest if one.digest]
    mended, checked = 0, 0
    progress("verify", 0, len(expected))
    for page in _pages(expected):
        right = await in_parallel(page, partial(_is_right, target))
        wrong = [one.key for one, good in zip(page, right, strict=True) if not good]
        if wrong:
            done = await in_parallel(wrong, partial(_copy, source, target))
            await manifest.note([one for one, _ in done if one is not None], [])
            mended += len(wrong)
        checked += len(page)
        progress("verify", checked, len(expected))
    known = {one.key for one in expected}
    # Left by a copy that was killed before it could write its page, and gone from the source since.
    strangers = [one.key async for one in all_keys(target) if one.key not in known]
    for keys in _pages(strangers):
        await target.delete_many(keys)
    return len(expected), mended + len(strangers)


def _pages(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[at : at + _PAGE] for at in range(0, len(items), _PAGE)]


async def _copy(source: Documents, target: Documents, key: str) -> tuple[Copied | None, int]:
    """Copy one object; None if it is gone meanwhile, which the next pass will see."""
    found = await persist(source.world, lambda: source.store.get(key))
    if found is None:
        return None, 0
    if is_tombstone(found):
        return Copied(key, found.version), 0
    data, patience = found.data, Patience(target.world)
    # Nobody else writes here, so that the same bytes may be put again until the store says that it has them.
    while isinstance(answer := await persist(target.world, lambda: target.store.put(key, data)), Unknown):
        if not await patience.pause():
            raise StoreUnavailable(f"{target.store.url} gave no final answer to a put ({answer.cause})", "Start again")
    return Copied(key, found.version, digest_of(data)), len(data)


async def _is_right(target: Documents, expected: Copied) -> bool:
    found = await persist(target.world, lambda: target.store.get(expected.key))
    return found is not None and digest_of(found.data) == expected.digest
