"""What steps printed and logged: each line once, with the right ids, whatever is replayed and in whichever thread."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from flowli import Context, step_info

from .conftest import Stage

ROUNDS, STEPS = 5, 10


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Every structured line, with what is bound."""
    found: list[dict[str, Any]] = []

    def keep(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
        found.append(dict(event))
        raise structlog.DropEvent

    structlog.configure(processors=[structlog.contextvars.merge_contextvars, keep])
    yield found
    structlog.reset_defaults()


async def test_lines_of_replayed_workflows_come_once_and_bear_the_right_ids(
    stage: Stage, lines: list[dict[str, Any]]
) -> None:
    """STP-25."""
    log = structlog.get_logger("shop")

    def work(name: str, n: int) -> str:
        log.info("step line", about=name, n=n)
        return step_info().fid

    @stage.fleet.registry.workflow
    async def talks(ctx: Context, name: str) -> None:
        for n in range(STEPS):
            ctx.log.info("workflow line", about=name, n=n)
            await ctx.step(work, name, n)
            if n % 2:
                await ctx.receive("go")

    eids = {name: await stage.fleet.engine.start("talks", name) for name in ("a", "b")}
    for n in range(ROUNDS):
        worker = stage.worker(f"w-{n}")  # one after another: each replays all that was done before
        await stage.advance(2)
        await stage.fleet.run(worker.stop())
        for eid in eids.values():
            await stage.fleet.engine.signal(eid, "go")
    stage.worker("last")
    await stage.advance(3)
    for eid in eids.values():
        assert (await stage.explain(eid)).reason == "completed"
    told = Counter((line["event"], line["about"], line["n"]) for line in lines if "about" in line)
    assert told == {
        (kind, name, n): 1 for kind in ("workflow line", "step line") for name in "ab" for n in range(STEPS)
    }
    for line in lines:
        if line.get("event") == "step line":
            assert line["eid"] == str(eids[line["about"]])
            assert line["fid"] == f"root/work#{line['n'] + 1}"
            assert line["attempt"] == 1
            assert line["epoch"] >= 1
        elif line.get("event") == "workflow line":
            assert line["eid"] == str(eids[line["about"]])
    assert not structlog.contextvars.get_contextvars()


async def test_the_logs_of_attempts_are_printed_and_followed(stage: Stage) -> None:
    def first() -> None:
        print("one")
        print("two")
        raise ValueError("three")

    @stage.fleet.registry.workflow
    async def prints(ctx: Context) -> None:
        await ctx.step(first)

    process = stage.fleet.process("w", attempt_logs="all").work(sweep=False)
    eid = await stage.fleet.engine.start("prints")
    await stage.advance(3)
    assert process.worker is not None
    told = [json.loads(line) for line in (await stage.type(f"flowli logs {eid} --json --follow")).splitlines()]
    assert [(one["fid"], one["attempt"]) for one in told] == [("root/first#1", 1)]
    assert told[0]["text"].splitlines()[:2] == ["one", "two"]
    plain = (await stage.type(f"flowli logs {eid} --frame first#1")).splitlines()
    assert plain[:2] == ["first#1 attempt 1  one", "first#1 attempt 1  two"]
    assert await stage.type(f"flowli logs {eid} --frame second#1") == ""
