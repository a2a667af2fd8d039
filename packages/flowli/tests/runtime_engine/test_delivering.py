"""Answers to delegates by whoever did the work without a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flowli import Context, Registry
from flowli.domain.errors import DispatchConflict, NotAllowed, UnknownExecution

if TYPE_CHECKING:
    from uuid import UUID

    from .conftest import Bench

own = Registry()


@own.workflow
async def ask(ctx: Context, question: str) -> Any:
    await ctx.enqueue("people", question, reply_to="answer", correlation="q1")
    return await ctx.receive("answer", correlation="q1")


async def asked(bench: Bench) -> tuple[UUID, str]:
    """An execution that waits for an answer, and the id of the task that asks for it."""
    eid = await bench.engine.start("ask", "why?", version="1")
    await bench.work(registry=own)
    (task,) = await bench.tasks("people")
    return eid, task.task_id


async def test_an_answer_lets_the_execution_go_on_and_is_given_once(bench: Bench) -> None:
    """QUE-15."""
    eid, task_id = await asked(bench)
    for _ in range(2):
        assert await bench.engine.deliver(eid, "answer", {"because": 1}, task_id=task_id, correlation="q1") == 1
    await bench.work(registry=own)
    found = {"outcome": "completed", "value": {"because": 1}}
    assert await bench.engine.result(eid) == found
    assert await bench.engine.deliver(eid, f"{eid}.answer", {"because": 1}, task_id=task_id, correlation="q1") == 1
    with pytest.raises(DispatchConflict):
        await bench.engine.deliver(eid, "answer", {"because": 2}, task_id=task_id, correlation="q1")


async def test_a_failure_is_an_answer_too(bench: Bench) -> None:
    """QUE-15."""
    eid, task_id = await asked(bench)
    for _ in range(2):
        try:
            raise ValueError("nobody knows")
        except ValueError as error:
            await bench.engine.deliver(eid, "answer", task_id=task_id, error=error, correlation="q1")
    await bench.work(registry=own)
    assert await bench.engine.result(eid) == {
        "outcome": "failed",
        "error": {"type": "builtins.ValueError", "message": "nobody knows"},
    }


async def test_an_answer_to_nobody_is_refused(bench: Bench) -> None:
    """QUE-15."""
    with pytest.raises(UnknownExecution):
        await bench.engine.deliver(bench.world.uuid7(), "answer", 1, task_id="DELEGATE:x")
    eid, task_id = await asked(bench)
    await bench.engine.terminate(eid, "enough")
    with pytest.raises(NotAllowed):
        await bench.engine.deliver(eid, "answer", 1, task_id=task_id, correlation="q1")
