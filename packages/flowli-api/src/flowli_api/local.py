"""``engine.http``: the service beside other work of a process, for one person at one machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from flowli import Engine
from flowli.cairn.observe import RequestCounts
from flowli_api.app import create_app
from flowli_api.bill import Bill
from flowli_api.cli.authenticating import for_one_run
from flowli_api.config import ApiConfig
from flowli_api.serving import Listen, listening

__all__ = ["LocalHttp"]


class LocalHttp:
    """What ``flowli dev`` serves.

    Args:
        engine: whose bucket.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def serve(
        self, port: int = 0, requests: RequestCounts | None = None, storage: str | None = None
    ) -> AsyncIterator[str]:
        """Serve on this machine only while the block runs; gives the address, with a token that is good for it.

        Args:
            port: 0 for any that is free.
            requests: counts what this process asks of the bucket.
            storage: URL of the bucket.

        Raises:
            UsageError: the port is taken.
        """
        authenticator, token = for_one_run(self._engine.world)
        bill = None if requests is None else Bill(requests, storage or "", str(self._engine.world.now()))
        config = ApiConfig(rate_per_s=None)
        app = create_app(self._engine, authenticator=authenticator, config=config, bill=bill)
        async with listening(app, Listen(port=port, grace_s=2.0)) as serving:
            yield f"{serving.url}/#token={token}"
