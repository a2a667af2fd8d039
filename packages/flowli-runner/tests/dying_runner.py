"""``flowli-runner`` that is killed at one of its storage operations, counted from the first task that it takes.

``DIE_AT`` holds ``{number}:before`` or ``{number}:after``: the process is gone before the operation, or after it was
done and before its answer came. Without it nothing is different.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import fields, replace
from typing import Any


class Death:
    """Counts, and comes."""

    def __init__(self, text: str) -> None:
        number, _, when = text.partition(":")
        self._at, self._before = int(number), when == "before"
        self._count = -1

    async def call(self, takes: bool, method: Any, args: Any, options: Any) -> Any:
        at = self._count
        if at >= 0:
            self._count += 1
        if at == self._at and self._before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await method(*args, **options)
        if at == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        if takes and at < 0 and (result.items if hasattr(result, "items") else result):
            self._count = 0
        return result


class Port:
    """A port whose operations count."""

    def __init__(self, death: Death, port: Any) -> None:
        self._death, self._port = death, port

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        async def called(*args: Any, **options: Any) -> Any:
            return await self._death.call(name == "dequeue", method, args, options)

        return called


def die_at_a_port(death: Death) -> None:
    """Every operation of a port that a runner uses counts."""
    from flowli_runner import runner

    made = runner.Runner.__init__

    def init(self: Any, config: Any, ports: Any, **more: Any) -> None:
        names = [one.name for one in fields(ports) if one.name in ("queue", "channel", "evidence", "ownership")]
        made(self, config, replace(ports, **{name: Port(death, getattr(ports, name)) for name in names}), **more)

    runner.Runner.__init__ = init  # type: ignore[method-assign]


def die_at_a_request(death: Death) -> None:
    """Every request counts."""
    try:
        from flowli_api.client.asynchronous import AsyncClient
    except ImportError:
        return
    sent = AsyncClient.send

    async def send(self: Any, call: Any) -> Any:
        return await death.call(call.path.endswith("/dequeue"), sent, (self, call), {})

    AsyncClient.send = send  # type: ignore[method-assign]


if __name__ == "__main__":
    if text := os.environ.pop("DIE_AT", ""):
        coming = Death(text)
        die_at_a_port(coming)
        if "--url" in sys.argv:
            die_at_a_request(coming)
    sys.argv[0] = "flowli-runner"
    from flowli_runner.cli.main import main

    main()
