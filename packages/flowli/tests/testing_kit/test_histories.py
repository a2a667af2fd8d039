"""Recorded histories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowli import Context, Registry
from flowli.domain.errors import InvalidName, NondeterminismError, UnknownWorkflow, UsageError
from flowli.testing.env import TestEnvironment
from flowli.testing.histories import Histories


async def test_a_history_is_recorded_and_replayed(env: TestEnvironment, shop: Any, tmp_path: Path) -> None:
    histories = Histories(tmp_path / "kept")
    env.replace(shop.charge, lambda order: shop.Money(100))
    env.replace(shop.mail, lambda order: None)
    eid = await env.start(shop.subscribe, "A-1", months=2)
    await env.settle()
    path = histories.save("half-way", await env.journal(eid))
    await env.run_until_idle()
    histories.save("whole", await env.journal(eid))
    assert path == tmp_path / "kept" / "half-way.json"
    assert histories.names == ("half-way", "whole")
    assert histories.load("whole") == await env.journal(eid)
    for name in histories.names:
        histories.replay(name, shop.registry).check()


async def test_changed_code_is_found(env: TestEnvironment, shop: Any, tmp_path: Path) -> None:
    histories = Histories(tmp_path)
    eid = await env.start(shop.approve, "A-1")
    await env.settle()
    histories.save("waiting", await env.journal(eid))
    changed = Registry()

    @changed.workflow
    async def approve(ctx: Context, order: str) -> None:
        await ctx.sleep(5)

    with pytest.raises(NondeterminismError, match="receive"):
        histories.replay("waiting", changed).check()
    with pytest.raises(UnknownWorkflow, match="approve"):
        histories.replay("waiting", Registry())


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    histories = Histories(tmp_path)
    with pytest.raises(UsageError, match="holds no history; record one"):
        _ = histories.names
    with pytest.raises(UsageError, match="give the whole journal"):
        histories.save("x", [])
    (tmp_path / "known.json").write_text("[]")
    with pytest.raises(UsageError, match="no history 'other'; it holds known"):
        histories.load("other")


async def test_a_name_cannot_leave_the_folder(env: TestEnvironment, shop: Any, tmp_path: Path) -> None:
    eid = await env.start(shop.approve, "A-1")
    await env.settle()
    with pytest.raises(InvalidName):
        Histories(tmp_path).save("../x", await env.journal(eid))
