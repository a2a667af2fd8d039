"""Opening the store itself, for commands that work below the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.cli.exits import CommandFailed, ExitCode

if TYPE_CHECKING:
    from flowli.cairn.store import ObjectStore

__all__ = ["open_named"]


def open_named(storage: str | None, *, create: bool = False) -> ObjectStore:
    """Open the store that a URL names.

    Args:
        storage: from ``--storage`` or an argument.
        create: a bucket folder that does not exist is made; otherwise it is refused, for its name may be misspelt.

    Raises:
        CommandFailed: nothing is named.
        StoreError: the URL is wrong, or the folder does not exist.
    """
    from flowli.stores import open_store

    if not storage:
        message = "no storage is named; give --storage URL (for example file:./bucket) or set FLOWLI_STORAGE"
        raise CommandFailed(message, ExitCode.USAGE, "NoStorage")
    if storage.startswith("file:") and not create and "create=" not in storage:
        storage += f"{'&' if '?' in storage else '?'}create=false"
    return open_store(storage)
