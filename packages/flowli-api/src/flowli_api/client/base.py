"""What both clients have in common: requests made of calls, answers read, and when to try again."""

from __future__ import annotations

from typing import TypeVar

import httpx
import orjson
from pydantic import BaseModel

from flowli.domain.errors import UsageError
from flowli.world import World
from flowli_api.client.calls import Call
from flowli_api.client.errors import ApiError, error_of
from flowli_api.client.upload import Upload

__all__ = ["ATTEMPTS", "ClientBase"]

M = TypeVar("M", bound=BaseModel)

ATTEMPTS = 4
"""How often a call that may be repeated is tried."""

_AGAIN = frozenset({429, 502, 503, 504})
_FIRST_DELAY_S, _LAST_DELAY_S = 0.2, 5.0


class ClientBase:
    """See the module's docstring."""

    def __init__(self, url: str, token: str, world: World, timeout_s: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no address of a service; it begins with http:// or https://")
        self._url = url.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        self._world = world
        self._timeout_s = timeout_s

    def _request(self, call: Call[M]) -> httpx.Request:
        """The request of a call; each time it is sent it carries the same key."""
        headers = {**self._headers}
        if call.method != "GET":
            headers["idempotency-key"] = call.key or self._world.token()
            headers["content-type"] = "application/json"
        if call.after is not None:
            headers["flowli-after"] = str(call.after)
        params = {
            name: [str(one) for one in value] if isinstance(value, list | tuple) else str(value)
            for name, value in call.params.items()
        }
        timeout = httpx.Timeout(self._timeout_s, read=self._timeout_s + call.wait_s)
        content = None if call.body is None else orjson.dumps(call.body, default=str)
        if isinstance(call, Upload):
            content = call.content
            headers |= {**call.headers, "content-type": call.media_type}
        return httpx.Request(
            call.method,
            f"{self._url}{call.path}",
            params=params,
            headers=headers,
            content=content,
            extensions={"timeout": timeout.as_dict()},
        )

    @staticmethod
    def _read(call: Call[M], response: httpx.Response) -> M:
        """The answer.

        Raises:
            ApiError: it is a problem.
        """
        if response.is_success:
            return call.model.model_validate_json(response.content)
        raise error_of(response)

    def _delay_s(self, call: Call[M], tried: int, error: ApiError | httpx.TransportError) -> float | None:
        """After how long to try again; None for not at all."""
        if not call.repeatable or tried >= ATTEMPTS:
            return None
        if isinstance(error, ApiError) and error.problem.status not in _AGAIN and error.code != "behind":
            return None
        asked_s = error.retry_after_s if isinstance(error, ApiError) else None
        most_s: float = min(_LAST_DELAY_S, _FIRST_DELAY_S * 2 ** (tried - 1))
        drawn_s = most_s * (0.5 + self._world.random().random())
        return drawn_s if asked_s is None else max(min(asked_s, 60.0), drawn_s)
