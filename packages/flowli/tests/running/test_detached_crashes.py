"""The owner of an execution, or the worker that runs its detached step, dies at each of its calls in turn."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from flowli import Context, RetryPolicy, step_info
from flowli.domain.entries import FrameFulfilled, FrameStarted

from .fleet import Fleet, Process
from .test_crashes import HARMLESS, quiet

# a process that dies leaves coroutines that wait for ever
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SETTINGS = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "grace_s": 5.0, "audit_period_s": 60.0, "poll_s": 1.0}
QUEUES = {"owner": ("default",), "runner": ("gpu",)}


class Story:
    """A detached step of two attempts, and one that the code gives up."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ran: list[int] = []

        @fleet.registry.workflow
        async def story(ctx: Context) -> list[str]:
            policy = RetryPolicy(2, backoff=timedelta(seconds=4), jitter=0)
            found = [await ctx.step(self.train, queue="gpu", retry=policy)]
            try:
                async with asyncio.timeout(5):
                    await ctx.step(self.endless, queue="gpu")
            except TimeoutError:
                found.append("given up")
            return found

        fleet.registry.step(self.train)
        fleet.registry.step(self.endless)

    async def train(self) -> str:
        attempt = step_info().attempt
        self.ran.append(attempt)
        await self.fleet.clock.sleep(0.5)
        if attempt == 1:
            raise OSError("once")
        return "trained"

    async def endless(self) -> None:
        await self.fleet.clock.sleep(100_000)


async def play(fleet: Fleet, role: str, at: int | None = None, *, after: bool = False) -> tuple[Process, Story]:
    """Run the story; the process in ``role`` does not survive its call ``at``, and others come later."""
    story = Story(fleet)
    doomed = fleet.process(role, **SETTINGS)
    doomed.dies_at, doomed.dies_after = at, after
    other = "runner" if role == "owner" else "owner"
    eid = await fleet.engine.start("story")
    doomed.work(queues=QUEUES[role], sweep=role == "owner")
    fleet.process(other, **SETTINGS).work(queues=QUEUES[other], sweep=other == "owner")

    async def later() -> None:
        await fleet.clock.sleep(3)
        fleet.process("second", **SETTINGS).work(queues=QUEUES[role], sweep=role == "owner")

    second = asyncio.ensure_future(later())
    assert await fleet.value(eid) == ["trained", "given up"]
    await second
    assert [task.kind for task in await fleet.tasks("gpu")] == []
    bodies = [entry.body for entry in await fleet.entries(eid)]
    starts = [body.attempt for body in bodies if isinstance(body, FrameStarted) and "train" in body.fid]
    assert starts == [1, 2]
    assert sum(isinstance(body, FrameFulfilled) and "train" in body.fid for body in bodies) == 1
    assert len(story.ran) <= 2 + 1
    return doomed, story


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("role", QUEUES)
@pytest.mark.parametrize(("kind", "stride"), [("memory", 1), ("files", 11)])
async def test_whoever_dies_at_any_call_loses_no_step(
    tmp_path: Path, kind: str, stride: int, role: str, after: bool
) -> None:
    """STP-17."""
    quiet()

    def fresh(name: str) -> Fleet:
        folder = tmp_path / name
        folder.mkdir()
        return Fleet(kind, folder)

    fleet = fresh("seen")
    seen, _ = await play(fleet, role)
    await fleet.close()
    sights = [n for n, call in enumerate(seen.calls, 1) if call not in HARMLESS]
    assert len(sights) > 8
    for at in sights[after::stride]:
        fleet = fresh(f"call-{at}")
        try:
            await play(fleet, role, at, after=after)
        except BaseException as error:
            when = "after" if after else "before"
            raise AssertionError(f"{role} died {when} call {at}, {seen.calls[at - 1]}") from error
        await fleet.close()
