"""Ten ports in the place of the bucket: the engine under faults at every call, and backends that break a promise."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import ClassVar, get_type_hints

import pytest
from click.testing import CliRunner

from flowli.adapters.memory import MemoryBackend
from flowli.domain.ports import Appended, ControlSnapshots, Ports
from flowli.testing.sim.backends import READS, OpenBackend
from flowli.testing.sim.campaign import BUDGETS, Campaign
from flowli.testing.sim.command import sim
from flowli.testing.sim.modes import OF_BUCKETS, SINGLE, Case, run_case
from flowli.testing.sim.story import story
from flowli.testing.sim.suite import SimulatorSuite
from flowli.testing.sim.workloads import WORKLOADS
from flowli.world import World


class Shared:
    """The reference backend, which lives in one process, for all processes of a run."""

    url = "memory of all"

    def __init__(self, world: World) -> None:
        self.ports = MemoryBackend(world).ports
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Memories:
    """One ``Shared`` for each run."""

    def __init__(self) -> None:
        self.made: dict[str, Shared] = {}

    def __call__(self, world: World, run: str) -> Shared:
        if run not in self.made:
            self.made[run] = self.make(world)
        return self.made[run]

    def make(self, world: World) -> Shared:
        return Shared(world)


@pytest.fixture
def memories() -> Memories:
    return Memories()


class TestPorts(SimulatorSuite):
    workloads: ClassVar = {name: WORKLOADS[name] for name in ("delegate", "erase")}
    share = 0.05

    @pytest.fixture
    def open_backend(self) -> OpenBackend:
        return Memories()


def test_every_method_of_a_port_that_reads_is_known_as_one() -> None:
    hints = get_type_hints(Ports)
    ports = {field.name: hints[field.name] for field in fields(Ports) if field.name not in ("fork", "poll_hint_s")}
    methods = [(name, method) for name, port in ports.items() for method in vars(port)]
    methods += [("control", method) for method in vars(ControlSnapshots)]
    known = {f"{name}.{method}" for name, method in methods if not method.startswith("_")}
    assert known > READS
    writing = {name.partition(".")[2] for name in known - READS}
    assert not writing & {"read", "get", "find", "queues", "dead", "due", "pending", "marker", "markers", "end"}


@pytest.mark.parametrize("fault", sorted(set(SINGLE) - set(OF_BUCKETS)))
def test_every_fault_can_strike_a_call(memories: Memories, fault: str) -> None:
    outcome, cluster = run_case(Case("steps", 1, ((17, fault),)), backend=memories)
    assert [one.number for one in cluster.bucket.operations if one.fault is not None] == [17]
    assert outcome.problems == []
    assert [one.closed for one in memories.made.values()] == [True]


def test_the_story_tells_of_calls(memories: Memories) -> None:
    outcome, cluster = run_case(Case("steps", 1, ((17, "vanish"),)), backend=memories)
    told = story(cluster, outcome.problems)
    assert "journal.append" in told
    assert "Vanish()" in told
    assert "journal.read" not in told


def test_what_only_a_bucket_does_is_not_tried_on_ports(memories: Memories) -> None:
    campaign = Campaign({"steps": WORKLOADS["steps"]}, backend=memories)
    tried = {fault for case in campaign.cases("sweep", BUDGETS["small"]) for _, fault in case.strikes}
    assert tried == set(SINGLE) - set(OF_BUCKETS)


def test_a_backend_without_a_fence_is_found() -> None:
    class Careless(Memories):
        def make(self, world: World) -> Shared:
            shared = Shared(world)
            journal = shared.ports.journal

            class Unfenced(type(journal)):  # type: ignore[misc]
                async def append(self, eid, entries, *, after, epoch, writer):
                    while True:
                        end = (await journal.read(eid)).position
                        done = await journal.append(eid, entries, after=end, epoch=epoch, writer=writer)
                        if isinstance(done, Appended):
                            return done

                async def read(self, eid, **options):
                    return await journal.read(eid, **options)

            shared.ports = replace(shared.ports, journal=Unfenced())
            return shared

    _, cluster = run_case(Case("steps"), backend=Memories())
    append = next(one.number for one in cluster.bucket.operations if one.verb == "journal.append")
    outcome, _ = run_case(Case("steps", 1, ((append, "late"),)), backend=Careless())
    assert outcome.problems[0].startswith("S2/S3: journal of ")


def test_a_backend_is_named_by_a_url_of_which_each_run_makes_its_own(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/{{run}}?durability=os"
    done = CliRunner().invoke(sim, ["--backend", url, "--case", "steps:1:ttl:hosts:0:die-after@20"])
    assert done.exit_code == 0, done.output
    assert "journal.append" in done.output
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--backend", "rows:./one.db"], "needs {run}"),
        (["--backend", "rows:./{run}.db", "--storage", "memory:"], "give one of them"),
    ],
)
def test_a_backend_that_cannot_be_tried_is_told(arguments: list[str], told: str) -> None:
    done = CliRunner().invoke(sim, arguments)
    assert done.exit_code == 2
    assert told in done.output
