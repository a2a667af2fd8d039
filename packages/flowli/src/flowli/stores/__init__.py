"""The object stores that come with flowli, and the door through which every store is opened.

``open_store`` finds the store type by the scheme of a URL or the ``type`` of a mapping among the registered plugins;
the built-in ones are registered there like any other.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowli.cairn.errors import StoreConfigError
from flowli.cairn.store import ObjectStore
from flowli.world import SYSTEM, World

__all__ = ["open_store"]

_ALIASES = {"filesystem": "file"}


def open_store(storage: str | Mapping[str, object], *, world: World = SYSTEM) -> ObjectStore:
    """Open a store.

    Args:
        storage: a URL (``file:./bucket``, ``memory:``, ``s3://bucket/prefix?region=…``) or a mapping with its ``type``
            (``{"type": "s3", "bucket": …}``).
        world: clock, chance and threads of this process.

    Returns:
        The store, checked as far as it can be without a request.

    Raises:
        StoreConfigError: the URL or mapping is wrong.
        PluginError: no installed distribution provides the type; the message says which one does.
        StoreError: the place does not exist or cannot be used.
    """
    from flowli import plugins

    if isinstance(storage, str):
        scheme, colon, _ = storage.partition(":")
        if not colon or not scheme.isidentifier():
            raise StoreConfigError(f"{storage!r} is not a storage URL", "Write for example file:./bucket or memory:")
        opened: ObjectStore = plugins.find_store(scheme).load().from_url(storage, world=world)
        return opened
    kind = storage.get("type")
    if not isinstance(kind, str):
        raise StoreConfigError("The storage mapping has no 'type'", "Add one, for example {'type': 'file', 'path': …}")
    made: ObjectStore = plugins.find_store(_ALIASES.get(kind, kind)).load().from_config(storage, world=world)
    return made
