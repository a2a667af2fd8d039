"""``flowli check``: what is sound is found sound, planted damages are found by name, and what is safe is repaired."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.cli.check.examine import Examined, examine
from flowli.cli.check.finding import CHECKS, Finding, Repair
from flowli.cli.check.repair import Repairs
from flowli.domain import keys
from flowli.domain.channels import WaitMarker, scoped_channel
from flowli.domain.entries import ExecutionPatched, ExecutionResumed, JournalEntry
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.runtime import Context, Engine, Registry
from flowli.runtime.protocols.start import start_task
from flowli.stores import open_store
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.sim.modes import Case, run_case

registry = Registry()


@registry.workflow
async def greet(ctx: Context, name: str) -> str:
    async def say(name: str) -> str:
        return f"hello {name}"

    return await ctx.step(say, name)


@registry.workflow
async def wait(ctx: Context) -> str:
    return await ctx.receive("orders")


@registry.workflow
async def rest(ctx: Context) -> None:
    await ctx.sleep(3600)


class Bucket:
    """A bucket with an execution of each kind: ended, waiting, sleeping, not begun."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.world = ManualWorld(self.clock)
        self.store = MemoryStore(world=self.world)
        self.backend = CairnBackend(self.store, world=self.world)
        self.engine = Engine(self.backend.ports, Site("w", "h", 1), registry=registry, world=self.world)
        self.eids: dict[str, Eid] = {}

    async def fill(self) -> Bucket:
        await self.clock.run(self._fill())
        await self.clock.advance(120)
        return self

    async def _fill(self) -> None:
        async with self.engine.worker() as worker:
            for name, args in (("greet", ("Ada",)), ("wait", ()), ("rest", ())):
                self.eids[name] = await self.engine.start(name, *args, key=f"key-{name}")
            await worker.run_until_idle()
        self.eids["new"] = await self.engine.start("greet", "Bob")
        await self.engine.announcer.drain()

    async def examine(self) -> Examined:
        # a store of its own: nothing is remembered of the bucket as it was before
        fresh = CairnBackend(self.store, world=self.world)
        return await self.clock.run(examine(fresh, self.world))

    async def repair(self) -> list[Finding]:
        examined = await self.examine()
        repairs = Repairs(self.backend, self.engine, Actor(ActorKind.HUMAN, "ada"), examined)
        return await self.clock.run(repairs.run(examined.findings))

    async def commits(self, log: str) -> list[str]:
        return [item.key for item in (await self.store.list(f"logs/{log}/log/")).items]

    async def remove(self, key: str) -> None:
        await self.store.delete(key)

    async def write(self, key: str, data: bytes) -> None:
        await self.store.put(key, data)


@pytest.fixture
async def planted() -> Bucket:
    return await Bucket().fill()


Damage = Callable[[Bucket], Awaitable[None]]
DAMAGES: dict[str, tuple[str, Damage]] = {}


def damage(check: str) -> Callable[[Damage], Damage]:
    def register(plant: Damage) -> Damage:
        DAMAGES[plant.__name__] = (check, plant)
        return plant

    return register


@damage("key")
async def a_strange_key(bucket: Bucket) -> None:
    await bucket.write("wf/nothing-of-ours", b"?")


@damage("readable")
async def a_commit_of_noise(bucket: Bucket) -> None:
    await bucket.write((await bucket.commits(keys.journal_log(bucket.eids["greet"])))[0], b"noise")


@damage("readable")
async def a_record_of_noise(bucket: Bucket) -> None:
    await bucket.write(keys.meta(bucket.eids["wait"]), b"noise")


@damage("readable")
async def a_task_of_noise(bucket: Bucket) -> None:
    (key,) = [item.key for item in (await bucket.store.list("wf/queues/default/ready/")).items]
    await bucket.write(key, b"noise")


@damage("log-dense")
async def a_commit_that_is_gone(bucket: Bucket) -> None:
    await bucket.remove((await bucket.commits(keys.CONTROL_LOG))[0])


@damage("log-sequence")
async def a_commit_in_the_place_of_another(bucket: Bucket) -> None:
    log = keys.journal_log(bucket.eids["wait"])
    (last,) = (await bucket.commits(log))[-1:]
    found = await bucket.store.get(last)
    assert found is not None
    await bucket.write(f"logs/{log}/log/{int(last[-20:-8]) + 1:012d}.msgpack", found.data)


@damage("log-epoch")
async def an_entry_of_an_older_epoch(bucket: Bucket) -> None:
    await _append(bucket, bucket.eids["wait"], epoch=0)


@damage("segment")
async def a_segment_of_another_log(bucket: Bucket) -> None:
    await bucket.write(f"logs/{keys.CONTROL_LOG}/snapshots/segment/000000000001.msgpack", b"noise")


@damage("journal")
async def a_second_end(bucket: Bucket) -> None:
    await _append(bucket, bucket.eids["greet"], epoch=1)


@damage("owner")
async def two_owners_of_one_epoch(bucket: Bucket) -> None:
    site = Site("another", "h", 2, epoch=1)
    by = Provenance(Actor(ActorKind.WORKER, "another"), site, bucket.world.now())
    await _append(bucket, bucket.eids["wait"], epoch=1, entry=JournalEntry(ExecutionPatched("x", True), by))


@damage("record")
async def a_record_that_is_gone(bucket: Bucket) -> None:
    await bucket.remove(keys.meta(bucket.eids["wait"]))


@damage("same")
async def a_record_of_another(bucket: Bucket) -> None:
    other = await bucket.store.get(keys.meta(bucket.eids["rest"]))
    assert other is not None
    wait = str(bucket.eids["wait"]).encode()
    await bucket.write(keys.meta(bucket.eids["wait"]), other.data.replace(str(bucket.eids["rest"]).encode(), wait))


@damage("announced")
async def a_control_log_that_knows_nothing_of_the_last_start(bucket: Bucket) -> None:
    record = await bucket.backend.ports.executions.get(bucket.eids["new"])
    assert record is not None
    silent = replace(record, eid=bucket.world.uuid7())
    await bucket.backend.ports.executions.put(silent)
    await bucket.backend.ports.queue.enqueue(start_task(silent, silent.created_by))


@damage("start")
async def a_start_that_is_gone(bucket: Bucket) -> None:
    (key,) = [item.key for item in (await bucket.store.list("wf/queues/default/ready/")).items]
    await bucket.remove(key)


@damage("owned")
async def an_owner_that_vanished(bucket: Bucket) -> None:
    site = Site("another", "h", 2, epoch=2)
    by = Provenance(Actor(ActorKind.WORKER, "another"), site, bucket.world.now())
    await _append(bucket, bucket.eids["rest"], epoch=2, entry=JournalEntry(ExecutionResumed(2, ("timer",)), by))


@damage("woken")
async def a_message_without_a_task(bucket: Bucket) -> None:
    await bucket.engine.signal(bucket.eids["wait"], "orders", "tea")
    for item in (await bucket.store.list("wf/queues/default/ready/")).items:
        if "RESUME" in item.key:
            await bucket.remove(item.key)


@damage("marker")
async def a_marker_that_is_gone(bucket: Bucket) -> None:
    (key,) = [item.key for item in (await bucket.store.list("wf/waits/")).items]
    await bucket.remove(key)


@damage("timer")
async def a_timer_that_is_gone(bucket: Bucket) -> None:
    (key,) = [item.key for item in (await bucket.store.list("wf/timers/")).items]
    await bucket.remove(key)


@damage("marker-left")
async def a_marker_of_an_execution_that_has_ended(bucket: Bucket) -> None:
    eid = bucket.eids["greet"]
    await bucket.backend.ports.channel.mark(WaitMarker(scoped_channel(eid, "orders"), eid, 1, ("root/receive#1",)))


@damage("task-left")
async def a_task_of_an_execution_that_has_ended(bucket: Bucket) -> None:
    record = await bucket.backend.ports.executions.get(bucket.eids["greet"])
    assert record is not None
    await bucket.backend.ports.queue.enqueue(start_task(record, record.created_by))


@damage("claimed")
async def a_key_that_leads_nowhere(bucket: Bucket) -> None:
    found = await bucket.store.get("wf/dispatch/key-wait")
    assert found is not None
    nobody = str(bucket.world.uuid7()).encode()
    await bucket.write("wf/dispatch/key-wait", found.data.replace(str(bucket.eids["wait"]).encode(), nobody))


async def _append(bucket: Bucket, eid: Eid, *, epoch: int, entry: JournalEntry | None = None) -> None:
    found = await bucket.backend.ports.journal.read(eid)
    last = replace(entry or found.entries[-1], seq=0)
    await bucket.backend.ports.journal.append(eid, [last], after=found.position, epoch=epoch, writer="x")


async def test_a_sound_bucket_is_found_sound(planted: Bucket) -> None:
    examined = await planted.examine()
    assert examined.findings == []
    assert set(examined.executions) == set(planted.eids.values())


@pytest.mark.parametrize("name", sorted(DAMAGES))
async def test_a_planted_damage_is_found_with_evidence(planted: Bucket, name: str) -> None:
    check, plant = DAMAGES[name]
    await planted.clock.run(plant(planted))
    await planted.clock.advance(120)
    found = {finding.check: finding for finding in (await planted.examine()).findings}
    assert check in found
    assert found[check].problem
    assert found[check].evidence or check == "task-left"


def test_there_is_a_damage_for_every_check() -> None:
    assert {check for check, _ in DAMAGES.values()} == set(CHECKS)


@pytest.mark.parametrize(
    "name", sorted(name for name, (check, _) in DAMAGES.items() if CHECKS[check][1] is not Repair.NONE)
)
async def test_what_is_safe_is_repaired(planted: Bucket, name: str) -> None:
    await planted.clock.run(DAMAGES[name][1](planted))
    await planted.clock.advance(120)
    assert await planted.repair()
    assert (await planted.examine()).findings == []


@pytest.mark.parametrize(
    "name", sorted(name for name, (check, _) in DAMAGES.items() if CHECKS[check][1] is Repair.NONE)
)
async def test_what_is_not_safe_is_left_as_it_was(planted: Bucket, name: str) -> None:
    await planted.clock.run(DAMAGES[name][1](planted))
    await planted.clock.advance(120)
    before = {
        item.key: item.version for item in (await planted.store.list("")).items if item.key.startswith("logs/wf.exec")
    }
    repaired = await planted.repair()
    assert not [finding for finding in repaired if finding.check == DAMAGES[name][0]]
    after = {
        item.key: item.version for item in (await planted.store.list("")).items if item.key.startswith("logs/wf.exec")
    }
    assert after == before


@pytest.mark.parametrize(
    "line",
    [
        "children:5:ttl:hosts:0:die-after@60",
        "receive:5:ttl:hosts:0:vanish@90",
        "erase:5:ttl:hosts:0:",
        "named:5:ttl:hosts:5:",
    ],
)
async def test_what_the_simulator_leaves_is_sound(line: str) -> None:
    _, cluster = await asyncio.get_running_loop().run_in_executor(None, run_case, Case.parse(line))
    store = MemoryStore()
    for key, (data, _, _) in cluster.bucket.objects.items():
        await store.put(key, data)
    world = ManualWorld(ManualClock())
    assert (await examine(CairnBackend(store, world=world), world)).findings == []


async def test_an_owner_that_works_is_left_alone(planted: Bucket) -> None:
    """Its lease is renewed; whether its journal could go on is for itself to say."""
    from flowli.domain.ports import Holder

    await planted.clock.run(an_owner_that_vanished(planted))
    holder = Holder("another", Site("another", "h", 2))
    await planted.clock.run(planted.backend.ports.ownership.acquire(planted.eids["rest"], holder, 30.0, force=True))
    assert "owned" not in {finding.check for finding in (await planted.examine()).findings}


def test_the_command_says_what_does_not_hold_and_repairs_it(flowli, bucket: Path) -> None:
    eid = flowli("start", "purchase", "--json", '{"order": {"id": "o1", "cents": 5}}').strip()
    flowli.work()
    assert "0 found" in flowli("check")
    (marker,) = (path for path in bucket.rglob("*") if path.is_file() and "waits" in str(path))
    marker.unlink()
    told = flowli("check", code=1)
    assert f"marker  {eid}" in told
    assert f"wf/waits/{eid}." in told
    assert "--repair would put a RESUME" in told
    assert "1 thing does not hold" in flowli.errors
    assert "repaired" in flowli("check", "--repair")
    flowli.work()
    assert "0 found" in flowli("check")


def test_what_is_left_is_told_in_json_and_by_the_exit_code(flowli, bucket: Path) -> None:
    flowli("start", "purchase", "--json", '{"order": {"id": "o1", "cents": 5}}')
    flowli.work()
    store = open_store(os.environ["FLOWLI_STORAGE"])
    asyncio.run(store.put("wf/nothing-of-ours", b"?"))
    asyncio.run(store.close())
    told = json.loads(flowli("check", "--repair", "--json", code=1))
    assert told["sound"] is False
    assert [(one["check"], one["repair"], one["repaired"]) for one in told["findings"]] == [("key", None, False)]
    assert json.loads(flowli.errors)["error"]["kind"] == "Unsound"


def test_the_guide_lists_every_check_and_its_repair() -> None:
    page = Path(__file__).parents[4] / "docs" / "how-to" / "check-a-bucket.md"
    if not page.is_file():
        pytest.skip("the documentation is not here")
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {what} | {repair or 'nothing'} |" for name, (what, repair) in CHECKS.items()]
