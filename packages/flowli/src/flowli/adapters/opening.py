"""``open_backend``: whatever a URL or a mapping names, a bucket or a backend that brings its own ten ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowli.descriptors import Backend, BackendType
from flowli.domain.errors import BackendRefused
from flowli.world import SYSTEM, World

if TYPE_CHECKING:
    from flowli.cairn.observe import RequestObserver

__all__ = ["open_backend"]


def open_backend(
    storage: str | Mapping[str, object], *, world: World = SYSTEM, requests: RequestObserver | None = None
) -> Backend:
    """Open a backend.

    A scheme that a plugin registers by ``flowli_backends`` opens that backend; every other one is the place of a
    bucket, over which ``CairnBackend`` makes the ports.

    Args:
        storage: a URL (``file:./bucket``, ``s3://bucket/prefix``, a scheme of a plugin) or a mapping with its ``type``.
        world: clock, chance and identity of this process.
        requests: told of every request to a bucket; backends of plugins tell it nothing.

    Raises:
        BackendRefused: the storage is named wrongly, nothing provides its type, or the operator must act otherwise.
        BackendUnavailable: it cannot be reached now.
    """
    from flowli.adapters.cairndb import CairnBackend
    from flowli.plugins import PluginError, manager

    kind = storage.partition(":")[0] if isinstance(storage, str) else storage.get("type")
    try:
        found = manager().all(BackendType).get(kind) if isinstance(kind, str) else None
    except PluginError as error:
        raise BackendRefused(str(error)) from error
    if found is None:
        backend = CairnBackend.configure({"storage": storage}, world=world)
        if requests is None:
            return backend
        from flowli.cairn.observe import observed

        return CairnBackend(observed(backend.store, requests, world=world), world=world)
    factory = found.load()
    if isinstance(storage, str):
        return factory.from_url(storage, world=world)
    return factory.from_config(storage, world=world)
