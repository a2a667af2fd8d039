"""The HTTP service in ``flowli dev``, if a distribution brings one: the engine extension ``http``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from flowli.cairn.observe import RequestCounts
    from flowli.runtime import Engine

__all__ = ["LocalService", "serving"]


class LocalService(Protocol):
    """What the extension gives for an engine."""

    def serve(self, port: int, requests: RequestCounts | None, storage: str | None) -> AbstractAsyncContextManager[str]:
        """Serve on this machine while the block runs; gives the address, with what opens it for one person.

        Args:
            requests: counts what this process asks of the bucket.
            storage: URL of the bucket.
        """


@asynccontextmanager
async def serving(
    engine: Engine, port: int | None, requests: RequestCounts | None = None, storage: str | None = None
) -> AsyncIterator[str | None]:
    """Serve while the block runs; gives the address, or None where nothing serves.

    Args:
        port: None serves nothing.
        requests: counts what this process asks of the bucket.
        storage: URL of the bucket.
    """
    from flowli.descriptors import EngineExtensionType
    from flowli.plugins import manager

    extension = manager().all(EngineExtensionType).get("http")
    if port is None or extension is None:
        yield None
        return
    make = extension.load()
    assert callable(make)
    async with cast("LocalService", make(engine)).serve(port, requests, storage) as url:
        yield url
