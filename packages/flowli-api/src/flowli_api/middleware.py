"""What happens around every request: its id, the limit of its body, the headers that keep browsers safe."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flowli_api.config import ApiConfig
from flowli_api.problems import problem_response
from flowli_api.service import Service

__all__ = ["CSP", "Envelope"]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'{connect}; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy; ``{connect}`` takes the identity provider. No script stands in a page."""

_ID = re.compile(r"[A-Za-z0-9._-]{8,64}", re.ASCII)


class Envelope:
    """The outermost layer.

    Args:
        app: what is inside.
        config: the limits.
        service: counts the answers; its world draws ids.
    """

    def __init__(self, app: ASGIApp, config: ApiConfig, service: Service) -> None:
        self._app = app
        self._world = service.world
        self._answered = service.answered
        self._most = config.max_body_bytes
        connect = f" {_origin(config.oidc.issuer)}" if config.oidc else ""
        self._headers = {
            "content-security-policy": CSP.format(connect=connect),
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
        }
        if config.hsts_s:
            self._headers["strict-transport-security"] = f"max-age={config.hsts_s}; includeSubDomains"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _ID.fullmatch(given) else self._world.token()
        scope["flowli.request_id"] = request_id

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    found.setdefault(name, value)
                found["x-request-id"] = request_id
                self._answered[message["status"]] += 1
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            refused = self._announced_too_large(headers)
            if refused:
                response = problem_response("payload_too_large", refused, request_id=request_id)
                await response(scope, receive, sending)
                return
            await self._app(scope, _Counted(receive, self._most), sending)

    def _announced_too_large(self, headers: dict[bytes, bytes]) -> str:
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and len(length) < 20 and int(length) <= self._most:
            return ""
        return f"The body is announced with {length.decode('latin-1')[:40]} bytes; the limit is {self._most:,}."


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class _Counted:
    """``receive`` that stops a body which grows over the limit without having announced it."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most
        self._most = most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise HTTPException(413)  # the framework lets no other error through from here
        return message
