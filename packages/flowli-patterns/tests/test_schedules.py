"""Schedules: once for each slot in the fleet, policies, operators, declarations, crashes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from flowli import CairnBackend, Context, Engine, EngineConfig, MemoryBackend, Registry, Site
from flowli.domain.entries import START, ExecutionCreated, OperatorActed
from flowli.domain.errors import InvalidName, NotAllowed, UnknownWorkflow, UsageError
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.timestamp import Timestamp
from flowli_patterns.errors import UnknownSchedule
from flowli_patterns.schedule.declare import declare
from flowli_patterns.schedule.job import BURST, RATE, ScheduleJob
from flowli_patterns.schedule.model import CatchUp, Overlap, Schedule
from flowli_patterns.schedule.verbs import Schedules
from flowli_patterns.schedule.when import At, Cron, Every, Ticks

registry = Registry()
NOON = Timestamp.parse("2026-03-01T12:00:00.000000Z")
MINUTELY = Every(60)


@registry.workflow
async def tidy(ctx: Context, room: str = "hall", slot: str = "") -> str:
    return f"{room} {slot}"


@registry.workflow
async def long(ctx: Context) -> str:
    await ctx.sleep(150)
    return "done"


class Driven:
    """The verbs of schedules, each call driven by the clock: some wait for company in a commit."""

    def __init__(self, verbs: Schedules, clock: ManualClock) -> None:
        self._verbs, self._clock = verbs, clock

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **options: self._clock.run(getattr(self._verbs, name)(*args, **options))


class Fleet:
    """Engines and sweepers of one bucket on one clock."""

    def __init__(self, kind: str) -> None:
        self.clock = ManualClock(NOON)
        world = ManualWorld(self.clock, name="bucket")
        self.ports = (MemoryBackend(world) if kind == "memory" else CairnBackend.open("memory:", world=world)).ports
        self.engine = self.open("cli")
        self.schedules = Driven(Schedules(self.engine), self.clock)

    def open(self, name: str, ports: Ports | None = None, known: Registry = registry) -> Engine:
        config = EngineConfig(hold_s=0.0, exec_ttl_s=600.0, task_ttl_s=600.0)
        world = ManualWorld(self.clock, name=name)
        return Engine(ports or self.ports, Site(name), registry=known, config=config, world=world)

    def sweepers(self, count: int, known: Registry = registry) -> list[Any]:
        return [self.open(f"s{n}", known=known).sweeper() for n in range(count)]

    async def sweep(self, *sweepers: Any, times: int = 1) -> None:
        for _ in range(times):
            await self.clock.run(asyncio.gather(*(one.sweep_once() for one in sweepers)))  # type: ignore[arg-type]

    async def pass_time(self, seconds: float, *sweepers: Any, every: float = 5.0) -> None:
        for _ in range(round(seconds / every)):
            await self.clock.advance(every)
            await self.sweep(*sweepers)

    async def started(self) -> list[ExecutionCreated]:
        found, after = [], START
        await self.clock.run(self.engine.announcer.drain())
        while True:
            part = await self.ports.control.read(after=after)
            found += [entry.body for entry in part.entries if isinstance(entry.body, ExecutionCreated)]
            after = part.position
            if part.caught_up:
                return list({body.eid: body for body in found}.values())

    async def slots(self, name: str) -> list[str]:
        keys = [body.dispatch_key or "" for body in await self.started()]
        return sorted(key.split(":")[2] for key in keys if key.startswith(f"schedule:{name}:"))


@pytest.fixture(params=["memory", "cairn-memory"])
def fleet(request: pytest.FixtureRequest) -> Fleet:
    return Fleet(request.param)


def minute(*numbers: int) -> list[str]:
    return [f"20260301T12{number:02}00.000000Z" for number in numbers]


async def test_three_sweepers_start_each_slot_of_each_schedule_once(fleet: Fleet) -> None:
    """PAT-17, K35: also where two schedules have the same expression."""
    for name in ("a", "b"):
        await fleet.schedules.add(name, tidy, Cron("* * * * *"), overlap=Overlap.ALLOW)
    await fleet.pass_time(300, *fleet.sweepers(3))
    for name in ("a", "b"):
        assert await fleet.slots(name) == minute(1, 2, 3, 4, 5)
    assert len(await fleet.started()) == 10
    view = await fleet.schedules.get("a")
    assert [str(one.slot)[14:16] for one in view.runs] == ["01", "02", "03", "04", "05"]
    assert view.left_out == 0


class Crash(BaseException):
    """The process is gone."""


def dying(ports: Ports, after: int) -> Ports:
    """Ports of a process that dies in the place of its write number ``after``, before or after it took place."""
    left = after

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        async def write(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise Crash
            done = await call(*args, **options)
            left -= 1
            if left == 0:
                raise Crash
            return done

        return write

    class Dying:
        def __init__(self, port: Any, names: tuple[str, ...]) -> None:
            self._port, self._names = port, names

        def __getattr__(self, name: str) -> Any:
            found = getattr(self._port, name)
            return wrapped(found) if name in self._names else found

    writes = {
        "dispatch": ("claim", "claim_start", "replace_start"),
        "queue": ("enqueue",),
        "executions": ("put",),
        "control": ("append",),
    }
    changed = {name: Dying(getattr(ports, name), names) for name, names in writes.items()}
    return replace(ports, **{one.name: changed[one.name] for one in fields(ports) if one.name in changed})


async def test_a_sweeper_that_dies_at_any_write_loses_and_repeats_no_slot(fleet: Fleet) -> None:
    """PAT-17."""
    for n in range(1, 30):
        name = f"s{n}"
        await fleet.schedules.add(name, tidy, At((fleet.clock.now().to_datetime() + timedelta(seconds=5),)))
        await fleet.clock.advance(6)
        engine = fleet.open(f"dying{n}", dying(fleet.ports, n))
        job, died = ScheduleJob(), False
        for entry in (await fleet.ports.control.read(limit=100_000)).entries:
            job.take(entry)
        try:
            await fleet.clock.run(job(engine))
        except Crash:
            died = True
        await fleet.pass_time(30, *fleet.sweepers(1))
        view = await fleet.schedules.get(name)
        assert len(view.runs) == 1, n
        stands = await fleet.ports.dispatch.read_start(view.schedule.key(view.runs[0].slot))
        assert stands is not None
        assert stands.eid == view.runs[0].eid
        assert (await fleet.engine.status(stands.eid)).execution.workflow == "tidy"
        if not died:
            assert n > 8  # a claim, a keyed start of three writes, a record: each before and after
            return
    pytest.fail("it never ran to its end")


async def test_after_an_outage_policies_are_honoured_and_the_rate_is_bounded(fleet: Fleet) -> None:
    """K36, PAT-21, PAT-22: 40 schedules from every minute to daily, ten hours down, three sweepers back at once."""
    policies = [CatchUp.SKIP, CatchUp.LAST, CatchUp.ALL, CatchUp.ALL]
    whens = [Cron("* * * * *"), Cron("*/15 * * * *"), Cron("0 * * * *"), Cron("0 0 * * *"), Cron("30 13 * * *")]
    for n in range(40):
        await fleet.schedules.add(
            f"s{n}", tidy, whens[n % 5], catch_up=policies[n % 4], catch_up_limit=20, overlap=Overlap.ALLOW
        )
    await fleet.clock.advance(10 * 3600 + 2)
    sweepers, before, per_minute = fleet.sweepers(3), 0, list[int]()
    for _ in range(8):
        await fleet.pass_time(60, *sweepers, every=6)
        now = len(await fleet.started())
        per_minute.append(now - before)
        before = now
    due_now = 8 * 4  # three in five are due at 22:00 itself, and the minutely ones go on
    assert max(per_minute) <= 3 * (BURST + 60 * RATE) + due_now
    back = "2026-03-01T22:00"
    for n in range(40):
        slots = await fleet.slots(f"s{n}")
        missed = [slot for slot in slots if f"{slot[:4]}-{slot[4:6]}-{slot[6:11]}:{slot[11:13]}" < back]
        assert len(set(slots)) == len(slots)
        possible = {0: 600, 1: 40, 2: 10, 3: 0, 4: 1}[n % 5]
        expected = {CatchUp.SKIP: 0, CatchUp.LAST: min(1, possible), CatchUp.ALL: min(20, possible)}[policies[n % 4]]
        # the slot of 22:00 is due as they come back, so that it stands for the missed ones where that is enough
        assert abs(len(missed) - expected) <= 1, (n, slots[:30])
        view = await fleet.schedules.get(f"s{n}")
        assert view.left_out >= possible - expected - 1
        assert view.left_out == 0 or "missed" in view.why


async def run_all(fleet: Fleet, policy: Overlap, catch_up: CatchUp = CatchUp.ALL) -> dict[str, str]:
    """Five minutes of a schedule whose runs take two and a half; the statuses by slot."""
    await fleet.schedules.add("s", long, MINUTELY, overlap=policy, catch_up=catch_up)
    sweeper = fleet.open("sweeper").sweeper()
    worker = fleet.open("worker").worker()
    for _ in range(60):
        await fleet.clock.advance(5)
        await fleet.clock.run(sweeper.sweep_once())
        await fleet.clock.run(worker.run_until_idle())
    found = {}
    for body in await fleet.started():
        status = (await fleet.engine.status(body.eid)).status
        found[(body.dispatch_key or "").split(":")[2][11:13]] = str(status)
    await fleet.clock.run(worker.drain())
    return dict(sorted(found.items()))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Overlap.SKIP, {"01": "completed", "04": "suspended"}),
        (Overlap.QUEUE, {"01": "completed", "02": "suspended"}),
        (
            Overlap.ALLOW,
            {"01": "completed", "02": "completed", "03": "suspended", "04": "suspended", "05": "suspended"},
        ),
        (Overlap.CANCEL_PREVIOUS, {}),
    ],
)
async def test_overlapping_runs_are_what_the_policy_says(
    fleet: Fleet, policy: Overlap, expected: dict[str, str]
) -> None:
    """PAT-23."""
    found = await run_all(fleet, policy)
    if policy is Overlap.CANCEL_PREVIOUS:
        assert Counter(found.values())["suspended"] <= 1
        assert set(found.values()) <= {"cancelled", "suspended"}
        assert len(found) >= 4
    else:
        assert found == expected


async def test_what_is_paused_starts_nothing_and_makes_up_for_nothing(fleet: Fleet) -> None:
    """PAT-24."""
    await fleet.schedules.add("s", tidy, MINUTELY, catch_up=CatchUp.ALL, overlap=Overlap.ALLOW)
    sweeper = fleet.sweepers(1)[0]
    await fleet.pass_time(60, sweeper)
    view = await fleet.schedules.pause("s", "moving house")
    assert view.schedule.paused
    assert view.next == ()
    await fleet.pass_time(180, sweeper)
    await fleet.schedules.resume("s")
    await fleet.pass_time(60, sweeper)
    assert await fleet.slots("s") == minute(1, 5)
    acts = [entry.body for entry in (await fleet.ports.control.read()).entries if isinstance(entry.body, OperatorActed)]
    assert ("schedule.pause", "moving house") in [(act.verb, act.reason) for act in acts]


async def test_what_is_removed_and_defined_anew_starts_no_slot_again(fleet: Fleet) -> None:
    """PAT-17."""
    await fleet.schedules.add("s", tidy, MINUTELY, overlap=Overlap.ALLOW)
    sweeper = fleet.sweepers(1)[0]
    await fleet.pass_time(60, sweeper)
    await fleet.schedules.remove("s")
    await fleet.pass_time(60, sweeper)
    await fleet.schedules.add("s", tidy, MINUTELY, overlap=Overlap.ALLOW)
    first = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
    filled = await fleet.schedules.backfill("s", first, first + timedelta(seconds=90))
    assert await fleet.slots("s") == minute(1, 2)
    assert [str(one.slot)[14:16] for one in filled] == ["01", "02"]


async def test_an_update_begins_to_count_now(fleet: Fleet) -> None:
    """PAT-24."""
    await fleet.schedules.add("s", tidy, MINUTELY, kwargs={"room": "hall"}, overlap=Overlap.ALLOW)
    sweeper = fleet.sweepers(1)[0]
    await fleet.pass_time(60, sweeper)
    await fleet.schedules.update("s", when=Every(120), kwargs={"room": "attic"}, slot_argument="slot")
    await fleet.pass_time(180, sweeper)
    assert await fleet.slots("s") == minute(1, 2, 4)
    eid = [body.eid for body in await fleet.started()][-1]
    args = (await fleet.engine.status(eid)).execution.args
    assert args == {"args": ["attic", "2026-03-01T12:04:00.000000Z"], "kwargs": {}}


async def test_the_actor_of_what_it_starts_is_the_schedule(fleet: Fleet) -> None:
    await fleet.schedules.add("s", tidy, MINUTELY)
    await fleet.pass_time(60, *fleet.sweepers(1))
    (body,) = await fleet.started()
    actor = (await fleet.engine.status(body.eid)).execution.created_by.actor
    assert (actor.kind, actor.id) == (ActorKind.SCHEDULE, "s")


async def test_jitter_is_a_property_of_the_slot(fleet: Fleet) -> None:
    schedule = Schedule(id="s", workflow="tidy", when=MINUTELY, jitter_s=30.0)
    delays = [schedule.delay(NOON + timedelta(minutes=n)) for n in range(50)]
    assert delays == [schedule.delay(NOON + timedelta(minutes=n)) for n in range(50)]
    assert len(set(delays)) == 50
    assert timedelta(0) <= min(delays) < timedelta(seconds=5)
    assert timedelta(seconds=25) < max(delays) < timedelta(seconds=30)
    await fleet.schedules.add("s", tidy, MINUTELY, jitter_s=30.0)
    first = (schedule.delay(NOON + timedelta(minutes=1))).total_seconds()
    sweeper = fleet.sweepers(1)[0]
    await fleet.clock.advance(60 + first - 0.1)
    await fleet.sweep(sweeper, times=2)
    assert await fleet.slots("s") == []
    await fleet.clock.advance(0.2)
    await fleet.sweep(sweeper, times=2)
    assert await fleet.slots("s") == minute(1)


async def test_bounds_are_kept(fleet: Fleet) -> None:
    at = datetime(2026, 3, 1, 12, 3, tzinfo=UTC)
    view = await fleet.schedules.add(
        "s", tidy, MINUTELY, not_before=at, not_after=at + timedelta(minutes=1), overlap=Overlap.ALLOW
    )
    assert [str(slot)[14:16] for slot in view.next] == ["03", "04"]
    await fleet.pass_time(420, *fleet.sweepers(1))
    assert await fleet.slots("s") == minute(3, 4)


async def test_by_hand_and_by_ticks_the_identity_decides(fleet: Fleet) -> None:
    verbs = fleet.schedules
    await verbs.add("s", tidy, MINUTELY, overlap=Overlap.ALLOW)
    assert await verbs.run("s", key="once") == await verbs.run("s", key="once")
    assert await verbs.run("s") != await verbs.run("s")
    await fleet.pass_time(60, *fleet.sweepers(1))
    slot = datetime(2026, 3, 1, 12, 1, tzinfo=UTC)
    (run,) = (await verbs.get("s")).runs
    assert await verbs.tick("s", slot) == run.eid  # the sweeper has started it
    with pytest.raises(UsageError, match=r"no slot of schedule 's'.*the next one is 2026-03-01T12:02:00"):
        await verbs.tick("s", slot + timedelta(seconds=1))
    before = len(await fleet.started())
    with pytest.raises(UsageError, match=r"has no identity; give the beginning of its window"):
        await verbs.tick("s", None)
    with pytest.raises(UsageError, match="without a zone"):
        await verbs.tick("s", slot.replace(tzinfo=None))
    assert len(await fleet.started()) == before
    await verbs.add("outside", tidy, Ticks())
    odd = datetime(2026, 3, 1, 11, 59, 7, tzinfo=UTC)
    assert await verbs.tick("outside", odd) == await verbs.tick("outside", odd)
    await verbs.pause("outside")
    with pytest.raises(NotAllowed, match="paused"):
        await verbs.tick("outside", odd)


async def test_an_engine_takes_ticks_of_which_each_slot_leads_to_one_execution(fleet: Fleet) -> None:
    """PAT-20: engines of several hosts, a sweeper and a backfill mean the same slot."""
    await fleet.schedules.add("s", tidy, MINUTELY, overlap=Overlap.ALLOW)
    await fleet.clock.advance(60)
    window = datetime(2026, 3, 1, 13, 1, tzinfo=timezone(timedelta(hours=1)))
    cron = Actor(ActorKind.SYSTEM, "cloud-scheduler")
    found = await fleet.clock.run(
        asyncio.gather(*(fleet.open(f"host-{n}").tick("s", window, actor=cron) for n in range(5)))
    )
    await fleet.sweep(*fleet.sweepers(2), times=2)
    (filled,) = await fleet.schedules.backfill("s", window, window)
    assert {*found, filled.eid} == {filled.eid}
    assert await fleet.slots("s") == minute(1)
    by = (await fleet.engine.status(found[0])).execution.created_by.actor
    assert by == Actor(ActorKind.SCHEDULE, "s", "cloud-scheduler")
    with pytest.raises(UsageError, match="has no identity"):
        await fleet.clock.run(fleet.engine.tick("s", None))


async def test_a_backfill_is_bounded_and_shown_before(fleet: Fleet) -> None:
    """PAT-24."""
    verbs, first = fleet.schedules, datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
    await verbs.add("s", tidy, MINUTELY)
    shown = await verbs.backfill("s", first, first + timedelta(minutes=4), dry_run=True)
    assert len(shown) == 5
    assert await fleet.started() == []
    done = await verbs.backfill("s", first, first + timedelta(minutes=4), queue="slow")
    assert [one.slot for one in done] == [one.slot for one in shown]
    assert {body.queue for body in await fleet.started()} == {"slow"}
    with pytest.raises(UsageError, match="more than 100 slots"):
        await verbs.backfill("s", first, first + timedelta(minutes=110), limit=100)
    with pytest.raises(UsageError, match="in the future"):
        await verbs.backfill("s", first, first + timedelta(days=1))
    with pytest.raises(UsageError, match="before it begins"):
        await verbs.backfill("s", first, first - timedelta(days=1))


async def test_a_declaration_is_put_once_and_operators_are_left_their_word(fleet: Fleet) -> None:
    known = Registry()
    known.workflow(tidy)
    declare(known, "nightly", tidy, Cron("0 2 * * *", "Europe/Berlin"))
    with pytest.raises(UsageError, match="declared twice"):
        declare(known, "nightly", tidy, MINUTELY)
    with pytest.raises(UnknownWorkflow):
        declare(known, "other", "tidi", MINUTELY)
    await fleet.sweep(*fleet.sweepers(2, known), times=2)
    first = await fleet.schedules.get("nightly")
    assert str(first.schedule.when) == "0 2 * * * (Europe/Berlin)"
    await fleet.schedules.pause("nightly")
    await fleet.schedules.update("nightly", note="by hand")
    await fleet.sweep(*fleet.sweepers(1, known), times=2)
    assert (await fleet.schedules.get("nightly")).schedule.note == "by hand"

    changed = Registry()
    changed.workflow(tidy)
    declare(changed, "nightly", tidy, Cron("0 3 * * *", "Europe/Berlin"))
    await fleet.sweep(*fleet.sweepers(1, changed), times=2)
    second = await fleet.schedules.get("nightly")
    assert str(second.schedule.when) == "0 3 * * * (Europe/Berlin)"
    assert second.schedule.paused  # the code does not resume what an operator has paused
    await fleet.schedules.remove("nightly")
    await fleet.sweep(*fleet.sweepers(1, changed), times=2)
    assert await fleet.schedules.list() == []


async def test_a_sweeper_without_the_workflow_leaves_its_slots_to_others(fleet: Fleet) -> None:
    await fleet.schedules.add("s", tidy, MINUTELY)
    await fleet.schedules.add("pinned", tidy, MINUTELY, version="1")
    bare = fleet.sweepers(1, Registry())[0]
    await fleet.pass_time(60, bare)
    assert await fleet.slots("s") == []
    assert await fleet.slots("pinned") == minute(1)
    await fleet.sweep(*fleet.sweepers(1), times=2)
    assert await fleet.slots("s") == minute(1)


async def test_arguments_that_do_not_fit_are_told_and_hold_up_nothing(fleet: Fleet) -> None:
    await fleet.schedules.add("s", tidy, MINUTELY, kwargs={"rooom": "hall"})
    await fleet.schedules.add("t", tidy, MINUTELY)
    await fleet.pass_time(60, *fleet.sweepers(1))
    assert await fleet.slots("t") == minute(1)
    view = await fleet.schedules.get("s")
    assert view.left_out == 1
    assert "rooom" in view.why


async def test_wrong_calls_say_what_to_do_and_store_nothing(fleet: Fleet) -> None:
    """PAT-25."""
    verbs = fleet.schedules
    await verbs.add("nightly", tidy, MINUTELY)
    before = (await fleet.ports.control.read()).position
    with pytest.raises(UnknownSchedule, match="did you mean 'nightly'"):
        await verbs.get("nigthly")
    with pytest.raises(NotAllowed, match="already"):
        await verbs.add("nightly", tidy, MINUTELY)
    with pytest.raises(UnknownWorkflow, match="did you mean 'tidy'"):
        await verbs.add("x", "tidi", MINUTELY)
    with pytest.raises(InvalidName):
        await verbs.add("../x", tidy, MINUTELY)
    for field in ("catch_up_window_s", "jitter_s", "timeout_s"):
        for value in (-1.0, float("nan"), float("inf")):
            with pytest.raises(UsageError, match=f"'x' has {field}={value:g}; give"):
                await verbs.add("x", tidy, MINUTELY, **{field: value})
    with pytest.raises(UsageError, match="no field 'cron'"):
        await verbs.update("nightly", cron="* * * * *")
    assert (await fleet.ports.control.read()).position == before


async def test_an_engine_has_schedules(fleet: Fleet) -> None:
    assert isinstance(fleet.engine.schedules, Schedules)


def test_a_schedule_comes_back_equal_from_its_recorded_form() -> None:
    whens = [Cron("0 2 * * 1-5", "Asia/Tokyo"), Every(1.5), At((datetime(2026, 1, 1, tzinfo=UTC),)), Ticks()]
    for when in whens:
        schedule = Schedule(
            id="s",
            workflow="w",
            when=when,
            args=(1, {"a": [2]}),
            kwargs={"x": None},
            overlap=Overlap.QUEUE,
            catch_up=CatchUp.ALL,
            not_after=datetime(2027, 1, 1, tzinfo=UTC),
        )
        assert Schedule.from_data({**schedule.to_data(), "newer": 1}) == schedule
    with pytest.raises(UsageError, match="upgrade flowli-patterns"):
        Schedule.from_data({**schedule.to_data(), "when": {"kind": "moon"}})
