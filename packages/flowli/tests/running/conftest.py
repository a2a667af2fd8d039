"""Every behaviour here holds on each of these backends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from .fleet import Died, Fleet

KINDS = ("memory", "cairn", "files")


@pytest.fixture(params=KINDS)
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fleet]:
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Died):
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)
    made = Fleet(request.param, tmp_path)
    yield made
    await made.close()
