"""Serving an application with uvicorn: proxies, TLS, and an end that open streams do not hold up.

1. ``stop``: streams and long polls end at once, ``/ready`` says no, no connection is accepted any more.
2. What else is under way is finished, for at most ``grace_s``.
3. The listening sockets are gone; the process can let go of the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from flowli.domain.errors import UsageError

__all__ = ["Listen", "Serving", "listening"]


_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Listen:
    """Where and how to listen.

    Attributes:
        port: 0 for any that is free.
        trusted_proxies: addresses or networks whose ``X-Forwarded-*`` headers are believed; none by default.
        certificate, key: PEM files; with both the service speaks TLS.
        grace_s: how long requests may take to end after a stop.

    Raises:
        UsageError: a certificate without its key, or the other way round.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    trusted_proxies: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    grace_s: float = 30.0

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise UsageError("TLS needs a certificate and its key; give both files")


class Serving:
    """A server. It has its port when it is made, and answers while ``run`` runs.

    Attributes:
        url: where it answers.

    Raises:
        UsageError: the address cannot be listened on.
    """

    def __init__(self, app: FastAPI, listen: Listen) -> None:
        self._app = app
        self._sock = sock = _bound(listen)
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        self._server = _Server(
            uvicorn.Config(
                app,
                proxy_headers=bool(listen.trusted_proxies),
                forwarded_allow_ips=list(listen.trusted_proxies),
                ssl_certfile=listen.certificate,
                ssl_keyfile=listen.key,
                timeout_graceful_shutdown=max(1, round(listen.grace_s)),
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
            )
        )
        scheme = "https" if listen.certificate else "http"
        host, port = sock.getsockname()[:2]
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    async def run(self) -> None:
        """Serve until ``stop``, and then until what was under way has ended."""
        await self._server.serve(sockets=[self._sock])

    def stop(self) -> None:
        """End: streams at once, requests when they are done. Calling it again does nothing."""
        self._app.state.service.closing.set()
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """Signals are for who runs the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(app: FastAPI, listen: Listen) -> AsyncIterator[Serving]:
    """A server beside other work of this event loop; it has ended when the block is left.

    Raises:
        UsageError: the address cannot be listened on.
    """
    serving = Serving(app, listen)
    work = asyncio.ensure_future(serving.run())
    try:
        yield serving
    finally:
        serving.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await work


def _bound(listen: Listen) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((listen.host, listen.port))
        sock.listen(_BACKLOG)  # whoever is told the address may connect at once, and is served in a moment
    except OSError as error:
        sock.close()
        raise UsageError(
            f"{listen.host}:{listen.port} cannot be listened on ({error.strerror}); use another --port or --host"
        ) from None
    sock.set_inheritable(True)
    return sock
