"""A vote, in time that is skipped."""

from flowli import Context, Registry
from flowli.testing.env import TestEnvironment
from flowli_pattern_vote.ballots import Ballots
from flowli_pattern_vote.vote import vote

registry = Registry()


@registry.workflow
async def outing(ctx: Context, friends: list[str]) -> str | None:
    return (await vote(ctx, "where to?", friends, choices=["sea", "hills"])).choice


async def test_two_of_three_decide():
    async with TestEnvironment(registry) as env:
        eid = await env.start(outing, ["ann", "bob", "cat"])
        for voter in ("cat", "ann"):
            await env.settle()
            await env.clock.drive(Ballots(env.engine).cast(eid, voter, "sea"))
        await env.run_until_idle()
        assert await env.result(eid) == "sea"
