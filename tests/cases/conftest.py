"""Each case holds on the store in memory and on the one in a folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from .rig import KINDS, Died, Fleet


@pytest.fixture(params=KINDS)
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A fleet on one bucket and one manual clock."""
    quiet()
    made = Fleet(KINDS[request.param], tmp_path)
    yield made
    await made.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """For tests that make several fleets."""
    return KINDS[request.param]


def quiet() -> None:
    """A process that is killed leaves coroutines that are told so."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Died):
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)
