"""Every behaviour here holds on each of these backends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flowli import Context

from .fleet import Died, Fleet
from .ledger import Ledger

# the wheel of flowli is tested alone as well, without the examples; tests/examples sees to it that they are here
ROWS = ("rows",) if find_spec("flowli_backend_sqlite") else ()
KINDS = ("memory", "cairn", "files", *ROWS)


@pytest.fixture(params=KINDS)
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fleet]:
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Died):
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)
    made = Fleet(request.param, tmp_path)
    yield made
    await made.close()


@pytest.fixture
def ledger(fleet: Fleet) -> Ledger:
    made = Ledger(fleet)

    @fleet.registry.workflow
    async def steps(ctx: Context, k: int, pause_s: float = 0.0) -> int:
        return sum([await ctx.step(made.write, n, pause_s) for n in range(k)])

    return made
