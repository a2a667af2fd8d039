"""``http``: an agent behind a service, with three calls of JSON.

    POST {url}                {"attempt", "prompt", "envelope", "tree"}  ->  {"id": ...}
    GET  {url}/{id}           ->  {"state": "running" | "completed" | "failed" | "cancelled" | "blocked",
                                   "summary", "claims", "resume", "session", "cost", "output"}
    POST {url}/{id}/cancel    ->  anything

A start carries the attempt as ``Idempotency-Key``: the same attempt asked for twice is one piece of work, so the start
may be repeated when its answer was lost. The handle is written before the start, without an id, and again with it: who
finds one without an id asks for the same attempt again, and goes on with it or ends it. A service that is away for a
while gives the task back; the work is gone on with later. ``FLOWLI_AGENT_TOKEN`` of the agent's environment is the
bearer token.
"""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from flowli.domain.data import Data
from flowli.domain.errors import Retry, UsageError
from flowli.world import World
from flowli_runner.agents.agent import AgentSetup, Job, Running, Said
from flowli_runner.agents.command import read_report
from flowli_runner.contracts import to_data
from flowli_runner.process.launch import ProgramEnd, Record

__all__ = ["TOKEN", "HttpAgent"]

TOKEN = "FLOWLI_AGENT_TOKEN"
_POLL_S, _TIMEOUT_S, _TRIES = 2.0, 30.0, 5
_AGAIN = timedelta(seconds=30)
_ENDS = {
    "completed": ("exited", 0),
    "failed": ("exited", 1),
    "blocked": ("exited", 0),
    "cancelled": ("cancelled", None),
}
_FIELDS = ("summary", "claims", "resume", "session", "cost")


class HttpAgent:
    """Has a service do the work."""

    def __init__(self, setup: AgentSetup, world: World) -> None:
        if not setup.url.startswith(("http://", "https://")) or "@" in setup.url.partition("//")[2].partition("/")[0]:
            raise UsageError(
                f"agent {setup.name!r} needs a url that begins with http:// or https://, without a password"
            )
        self._setup, self._world = setup, world
        self._pool = world.pool("flowli-runner-http", 4)

    async def start(self, job: Job, record: Record) -> Running:
        remote = _Remote(self._setup.url, job, self._world, self._pool)
        await record({"url": self._setup.url, "id": ""})
        await remote.start()
        await record({"url": self._setup.url, "id": remote.id})
        return remote

    def attach(self, job: Job, handle: Data) -> Running | None:
        match handle:
            case {"url": self._setup.url, "id": str(found)}:
                return _Remote(self._setup.url, job, self._world, self._pool, found)
            case _:
                return None

    def said(self, job: Job, output: bytes) -> Said:
        return read_report(job)

    def problem(self) -> str | None:
        return None


class _Remote:
    def __init__(self, url: str, job: Job, world: World, pool: Executor, found: str = "") -> None:
        self._url, self._job, self._world, self._pool = url.rstrip("/"), job, world, pool
        self.id = found
        self._output = b""

    async def start(self) -> None:
        body = {
            "attempt": self._job.attempt,
            "prompt": self._job.prompt,
            "envelope": to_data(self._job.envelope),
            "tree": str(self._job.tree),
        }
        answer = await self._call("POST", self._url, body)
        found = answer.get("id")
        if not isinstance(found, str) or not found:
            raise UsageError(f"{self._url} answered a start without an id; it must answer {{'id': '...'}}")
        self.id = found

    async def wait(self, seen: Callable[[], Awaitable[None]] | None = None) -> ProgramEnd:
        await self._known()
        until_s = self._world.monotonic_s() + self._job.limits.timeout_s
        while True:
            answer = await self._call("GET", self._place(), None)
            self._output = str(answer.get("output") or "").encode()[-self._job.limits.max_output :]
            if seen is not None:
                await seen()
            if answer.get("state") in _ENDS:
                return self._end(answer)
            if self._world.monotonic_s() >= until_s:
                await self._call("POST", f"{self._place()}/cancel", {})
                return ProgramEnd("timeout", output_bytes=len(self._output))
            await self._world.sleep(_POLL_S)

    async def stop(self) -> ProgramEnd:
        await self._known()
        await self._call("POST", f"{self._place()}/cancel", {})
        until_s = self._world.monotonic_s() + self._job.limits.grace_s
        while self._world.monotonic_s() < until_s:
            answer = await self._call("GET", self._place(), None)
            if answer.get("state") in _ENDS:
                return self._end(answer)
            await self._world.sleep(_POLL_S)
        return ProgramEnd("cancelled", output_bytes=len(self._output))

    def output(self) -> bytes:
        return self._output

    async def _known(self) -> None:
        if not self.id:
            await self.start()

    def _place(self) -> str:
        return f"{self._url}/{quote(self.id, safe='')}"

    def _end(self, answer: dict[str, Any]) -> ProgramEnd:
        reason, code = _ENDS[answer["state"]]
        said = {name: answer[name] for name in _FIELDS if name in answer}
        self._job.report_file.write_text(json.dumps({"outcome": answer["state"], **said}), encoding="utf-8")
        return ProgramEnd(reason, code, output_bytes=len(self._output))

    async def _call(self, method: str, url: str, body: Mapping[str, object] | None) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        for tried in range(_TRIES):
            try:
                return await loop.run_in_executor(self._pool, self._send, method, url, body)
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    raise
            except (OSError, ValueError):
                pass
            await self._world.sleep(_POLL_S * (tried + 1))
        raise Retry(f"the agent's service {self._url} cannot be reached", after=_AGAIN)

    def _send(self, method: str, url: str, body: Mapping[str, object] | None) -> dict[str, Any]:
        headers = {"accept": "application/json", "content-type": "application/json"}
        if method == "POST" and url == self._url:
            headers["idempotency-key"] = self._job.attempt
        if TOKEN in self._job.env:
            headers["authorization"] = f"Bearer {self._job.env[TOKEN]}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        with _opener.open(request, timeout=_TIMEOUT_S) as answer:
            text = answer.read()
        found = json.loads(text) if text.strip() else {}
        return found if isinstance(found, dict) else {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token elsewhere."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        """Follow none."""
        return


_opener = urllib.request.build_opener(_NoRedirect)
