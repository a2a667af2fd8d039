"""``flowli api serve`` as processes of their own, on a bucket in a folder."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

APP = """
from flowli import Context, Registry
registry = Registry()

@registry.workflow
async def patient(ctx: Context) -> str:
    return await ctx.receive("go")
"""
TOKEN = "a-token-that-all-processes-know"
PATIENCE_S = 300.0
"""How long an answer may take on a machine that does much else; nothing waits for it to pass."""


@dataclass
class Process:
    """A service, and a client of it."""

    process: asyncio.subprocess.Process
    http: httpx.AsyncClient

    async def end(self) -> int:
        """Tell it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()

    async def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        await self.process.wait()


def bucket_in(folder: Path) -> str:
    """A bucket for processes, with the application and the token that they are given."""
    (folder / "patient_app.py").write_text(APP)
    rows = f'[[tokens]]\ntoken = "{TOKEN}"\nsubject = "ada"\ncapabilities = ["admin"]\n'
    (folder / "tokens.toml").write_text(rows)
    (folder / "bucket").mkdir()
    return f"file:{folder}/bucket?durability=os"


@asynccontextmanager
async def serving(folder: Path, storage: str) -> AsyncIterator[Process]:
    """A service in a process; it is gone when the block is left."""
    command = [sys.executable, "-m", "flowli.cli", "api", "serve", "--app", "patient_app:registry", "--port", "0"]
    command += ["--auth", "static", "--auth-settings", str(folder / "tokens.toml"), "--storage", storage]
    paths = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        url = await _address(process)
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S) as http:
            yield Process(process, http)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    told = ""
    while "flowli: serving" not in told:
        told = (await process.stderr.readline()).decode()
        assert told, "it ended before it served"
    return told.strip().rpartition(" ")[2]


async def events(
    client: httpx.AsyncClient, path: str, last_id: str | None = None
) -> AsyncIterator[tuple[str, Any, str | None]]:
    """The events of a stream: name, data, id."""
    headers = {} if last_id is None else {"last-event-id": last_id}
    async with client.stream("GET", path, headers=headers) as answer:
        answer.raise_for_status()
        lines: dict[str, str] = {}
        async for line in answer.aiter_lines():
            if line:
                name, _, text = line.partition(": ")
                lines[name] = text
                continue
            if "event" in lines:
                yield lines["event"], json.loads(lines["data"]), lines.get("id")
            lines = {}
