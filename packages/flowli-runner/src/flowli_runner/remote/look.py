"""What keeps a runner from working through a service, for ``flowli-runner doctor``."""

from __future__ import annotations

import os

import httpx

from flowli.domain.errors import UsageError
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.errors import ApiError
from flowli_runner.remote.run import TOKEN

__all__ = ["look_at_service"]


async def look_at_service(queue: str, url: str) -> str | None:
    """What is wrong with a service, its token or the queue, as a sentence; None if nothing is known. No task is taken.

    Args:
        queue: whose tasks the token must be allowed to take.
    """
    if TOKEN not in os.environ:
        return f"there is no token in {TOKEN}; put the one there that may consume queue {queue!r}"
    try:
        async with AsyncClient(url, os.environ[TOKEN]) as client:
            me = await client.me()
    except (UsageError, ApiError) as error:
        return str(error)
    except httpx.TransportError as error:
        return f"it cannot be reached ({str(error) or type(error).__name__}); see whether `flowli serve` runs there"
    if not {"admin", f"tasks:consume:{queue}", "tasks:consume:*"} & set(me.capabilities):
        return f"{me.name} may not take its tasks; give it the capability tasks:consume:{queue}"
    return None
