"""``Webhook``: a handler of subscriptions that posts each change as a signed CloudEvent.

The headers are those of Standard Webhooks: ``webhook-id`` (the same at each delivery of one change),
``webhook-timestamp`` (seconds) and ``webhook-signature``: ``v1,`` and the base64 of the HMAC-SHA256 over
``{id}.{timestamp}.{body}``. ``verify`` checks them at the receiver.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from flowli import codec
from flowli.domain.errors import FlowliError, NonRetryableError, UsageError
from flowli.runtime.observe.cloudevents import cloud_event
from flowli.runtime.observe.subscription import Delivered
from flowli.world import SYSTEM, World

__all__ = ["Post", "Webhook", "WebhookRefused", "sign", "verify"]

Post: TypeAlias = Callable[[str, bytes, Mapping[str, str]], Awaitable[int]]
"""Posts a body with headers to a URL; returns the status. Raises if nobody answers."""

_TOLERANCE_S = 300.0
_TIMEOUT_S = 30.0
_SHORTEST_SECRET = 16


class WebhookRefused(FlowliError):
    """The receiver did not take a change; it is posted again."""


class Webhook:
    """See the module's docstring. Anything but a status of 2xx counts as not taken; 410 is not tried again.

    Args:
        url: ``https://…``; ``http`` is for receivers on this host or inside a private network.
        secret: shared with the receiver; at least 16 characters.
        source: ``source`` of the CloudEvents; names this installation.
        post: makes the request; by default httpx does, which must be installed.
        world: stamps the requests.

    Raises:
        UsageError: the URL or the secret cannot be used, or httpx is missing.
    """

    def __init__(
        self, url: str, secret: str, *, source: str = "/flowli", post: Post | None = None, world: World = SYSTEM
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no URL of a webhook; it begins with https:// and a host")
        if len(secret) < _SHORTEST_SECRET:
            raise UsageError(f"the secret of a webhook has {len(secret)} characters; give at least {_SHORTEST_SECRET}")
        self._url = url
        self._secret = secret
        self._source = source
        self._post = _httpx_post() if post is None else post
        self._world = world

    async def __call__(self, one: Delivered) -> None:
        """Post one change.

        Raises:
            WebhookRefused: it was not taken.
            NonRetryableError: the receiver is gone for good (410).
        """
        event = cloud_event(one, self._source)
        body = codec.canonical(event)
        seconds = self._world.now().us // 1_000_000
        headers = {
            "content-type": "application/cloudevents+json",
            **sign(self._secret, str(event["id"]), seconds, body),
        }
        status = await self._post(self._url, body, headers)
        if status == 410:
            raise NonRetryableError(f"the receiver at {urlsplit(self._url).hostname} is gone (410)")
        if not 200 <= status < 300:
            raise WebhookRefused(f"the receiver at {urlsplit(self._url).hostname} answered {status}")


def sign(secret: str, event_id: str, seconds: int, body: bytes) -> dict[str, str]:
    """The three headers for a body that is sent at ``seconds`` since 1970."""
    signed = hmac.new(secret.encode(), f"{event_id}.{seconds}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


def verify(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_s: float = _TOLERANCE_S,
    world: World = SYSTEM,
) -> bool:
    """Whether a request comes from who has the secret, and is no old one that somebody sends again.

    Args:
        headers: by lower-case name.
        tolerance_s: greatest age, and greatest difference of the clocks, in seconds.
    """
    seconds = headers.get("webhook-timestamp", "")
    if not seconds.isascii() or not seconds.isdigit():
        return False
    if abs(world.now().us / 1_000_000 - int(seconds)) > tolerance_s:
        return False
    wanted = sign(secret, headers.get("webhook-id", ""), int(seconds), body)["webhook-signature"].encode()
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(one, wanted) for one in given)


def _httpx_post() -> Post:
    try:
        import httpx
    except ImportError:
        raise UsageError("webhooks are posted by httpx, which is not installed. Run: pip install httpx") from None
    client = httpx.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=False)

    async def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
        answer = await client.post(url, content=body, headers=dict(headers))
        return answer.status_code

    return post
