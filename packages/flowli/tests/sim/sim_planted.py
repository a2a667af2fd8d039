"""What the tests of ``flowli sim`` name: a workload with a planted failure, and an application."""

from __future__ import annotations

from flowli.runtime import Context, Registry
from flowli.testing.sim import Client, Cluster, Expected, Workload

registry = Registry()


async def double(n: int) -> int:
    return 2 * n


@registry.workflow
async def bill(ctx: Context, n: int) -> int:
    await ctx.sleep(1)
    return await ctx.step(double, n)


@registry.workflow
async def wait(ctx: Context) -> None:
    await ctx.receive("never")


async def drive(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("bill", 21, key="k1"))
    client.expect(eid, Expected((42,)))


def planted(cluster: Cluster) -> list[str]:
    died = [one.number for one in cluster.struck if type(one.fault).__name__ == "DieAfter"]
    return ["S4: planted"] if died else []


WORKLOADS = {"planted": Workload("planted", lambda cluster: registry, drive, planted)}
