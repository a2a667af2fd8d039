"""What the core itself provides, through the same door as every other distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.descriptors import CodecType, CommandType, EventSinkType, StoreFactory, StoreType, ValueStep

if TYPE_CHECKING:
    from click import Command


def _filesystem() -> StoreFactory:
    from flowli.stores.filesystem import FilesystemStore

    return FilesystemStore


def _sqlite() -> StoreFactory:
    from flowli.stores.sqlite import SqliteStore

    return SqliteStore


def _memory() -> StoreFactory:
    from flowli.stores.memory import MemoryStore

    return MemoryStore


def _zlib() -> ValueStep:
    from flowli.adapters.coded import Zlib

    return Zlib()


def _zstd() -> ValueStep:
    from flowli.adapters.coded import Zstd

    return Zstd()


def _sql() -> object:
    from flowli.sql import Inbox

    return Inbox


def flowli_stores() -> list[StoreType]:
    """The stores that need no service."""
    return [
        StoreType("file", "A folder on disk", _filesystem),
        StoreType("sqlite", "A SQLite file", _sqlite),
        StoreType("memory", "The memory of this process; gone when it ends", _memory),
    ]


def flowli_codecs() -> list[CodecType]:
    """The codec steps that need no keys."""
    return [
        CodecType("zlib", "Compression that is always there", _zlib),
        CodecType("zstd", "Compression that is faster and better, if its library is installed", _zstd),
    ]


def flowli_event_sinks() -> list[EventSinkType]:
    """The sink that needs no service of its own."""
    return [EventSinkType("sql", "A table of a SQL database, each event once (extra sql)", _sql)]


def _sim() -> Command:
    from flowli.testing.sim.command import sim

    return sim


def flowli_commands() -> list[CommandType]:
    """The commands of the core."""
    from flowli.cli.commands import core_commands

    return [*core_commands(), CommandType("sim", "Try faults on the engine, on virtual time", _sim)]
