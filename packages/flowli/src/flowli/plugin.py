"""What the core itself provides, through the same door as every other distribution."""

from __future__ import annotations

from flowli.descriptors import CommandType, StoreFactory, StoreType


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


def flowli_commands() -> list[CommandType]:
    """The commands of the core."""
    from flowli.cli.commands import core_commands

    return core_commands()
