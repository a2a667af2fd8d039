"""What the core itself provides, through the same door as every other distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.descriptors import StoreFactory, StoreType

if TYPE_CHECKING:
    pass


def _filesystem() -> StoreFactory:
    from flowli.stores.filesystem import FilesystemStore

    return FilesystemStore


def _memory() -> StoreFactory:
    from flowli.stores.memory import MemoryStore

    return MemoryStore


def flowli_stores() -> list[StoreType]:
    """The stores that need no service."""
    return [
        StoreType("file", "A folder on disk", _filesystem),
        StoreType("memory", "The memory of this process; gone when it ends", _memory),
    ]
