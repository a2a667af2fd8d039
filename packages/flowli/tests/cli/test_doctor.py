"""``flowli doctor``: what it says of good, bad, closed and slow buckets."""

import json

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.errors import StoreConfigError, StoreMissing, StorePermission
from flowli.cairn.observe import ObservedRequest, observed
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.cli.doctor.bill import requests_a_month
from flowli.cli.doctor.check import Finding, Level, Patient, Wishes
from flowli.cli.doctor.checks import CHECKS, examine
from flowli.cli.doctor.render import is_go
from flowli.cli.doctor.rights import NEEDS, RIGHTS
from flowli.domain.data import Data
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualWorld
from flowli.testing.rights import GuardedStore
from flowli.testing.stores import CountingStore, Fault, FaultStore, Refuse

Result = Won | Lost | Gone | Unknown


@pytest.fixture
def world() -> ManualWorld:
    return ManualWorld()


async def found_in(store: ObjectStore, world: ManualWorld, **wishes) -> list[Finding]:
    requests: list[ObservedRequest] = []
    watched = observed(store, requests.append, world=world)
    return await examine(Patient(watched, world, Wishes(**wishes), requests))


def of(check: str, found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.check == check]


async def test_a_good_bucket_is_a_go_and_stays_as_it_was(world):
    store = MemoryStore(world=world)
    found = await found_in(store, world)
    assert is_go(found)
    assert [one.__name__ for one in CHECKS] == list(dict.fromkeys(one.check for one in found))
    assert {one.data["probe"] for one in of("contract", found)} >= {"put-if-absent", "stale delete", "race of swaps"}
    assert (await store.list("")).items == ()


async def test_a_store_that_ignores_conditions_is_a_no_go_by_name(world):
    class Ignores(CountingStore):
        async def put(self, key, data, *, if_absent=False, if_version=None) -> Result:
            return await super().put(key, data, if_absent=if_absent)

    found = await found_in(Ignores(MemoryStore(world=world)), world)
    (bad,) = [one for one in found if one.level is Level.BAD]
    assert "fails the check 'stale compare-and-swap'" in bad.text
    assert not of("bill", found), "what follows makes no sense"


@pytest.mark.parametrize("process", NEEDS)
async def test_each_right_that_a_process_lacks_is_named_and_no_other(world, process):
    for missing in RIGHTS:
        store = GuardedStore(MemoryStore(world=world), set(RIGHTS) - {missing})
        found = await found_in(store, world, process=process)
        assert is_go(found) is (missing not in NEEDS[process])
        for one in of("rights", found):
            if "missing" in one.data:
                assert one.data["missing"] == ([missing] if missing in NEEDS[str(one.data["process"])] else [])
        told = " ".join(one.text for one in of("rights", found))
        assert f"Grant {missing}." in told


async def test_with_the_rights_of_a_service_nothing_is_tried_that_could_not_be_cleaned_up(world):
    store = GuardedStore(MemoryStore(world=world), NEEDS["service"])
    found = await found_in(store, world, process="service")
    assert is_go(found)
    assert [one.level for one in of("contract", found)] == [Level.NOT_TRIED]
    assert [one.data["verb"] for one in of("latency", found)] == ["get", "list"]
    assert len((await store.store.list("")).items) == 1, "the one key of the trial of rights"


@pytest.mark.parametrize(
    "error",
    [
        StoreMissing("There is no bucket s3://b", "Create it"),
        StoreConfigError("The region is wrong", "Set region"),
        StorePermission("The credentials for s3://b have expired", "Renew them"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_bucket_that_nobody_reaches_is_one_finding(world, error):
    store = FaultStore(MemoryStore(world=world), [Fault(Refuse(error), verb="*", times=1000)])
    assert await found_in(store, world) == [Finding("reach", Level.BAD, str(error), fatal=True)]


class Stretched(ManualWorld):
    """Time passes when a test says so, in the middle of a request."""

    passed_s = 0.0

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self.passed_s


async def test_a_slow_bucket_is_noted_with_its_histogram():
    world = Stretched()

    class Slow(CountingStore):
        async def put(self, key, data, *, if_absent=False, if_version=None) -> Result:
            world.passed_s += 0.7
            return await super().put(key, data, if_absent=if_absent, if_version=if_version)

    found = await found_in(Slow(MemoryStore(world=world)), world, samples=5)
    put = of("latency", found)[0]
    assert put.level is Level.NOTE
    assert "Use a bucket near the workers." in put.text
    assert put.data["p50_ms"] == pytest.approx(700)
    histogram = put.data["histogram"]
    assert isinstance(histogram, dict)
    assert histogram["1000 ms"] == 5
    assert sum(map(int, map(str, histogram.values()))) == 5
    assert is_go(found)


def test_the_bill_follows_the_request_budget():
    assert requests_a_month(1000, 5, 0) == (270_000, 90_000)
    assert requests_a_month(0, 5, 1) == (780 * 24 * 30, 0)


async def test_a_bill_is_in_dollars_where_requests_cost_something(world):
    class Elsewhere(CountingStore):
        url = "s3://b?endpoint_url=https://minio"

    (bill,) = of("bill", await found_in(Elsewhere(MemoryStore(world=world)), world, per_day=1_000_000, workers=0))
    assert bill.data["dollars"] == 270_000 * 0.005 + 90_000 * 0.0004
    assert "if this service charges as Amazon does" in bill.text


def test_people_see_the_findings_the_rights_and_the_verdict(flowli, bucket):
    CairnBackend.open(f"file:{bucket}?durability=os")
    text = flowli("doctor", "--samples", "2")
    assert "put-if-absent works." in text
    assert "RIGHTS" in text
    assert "LATENCY" in text
    assert f"go: a worker can work on file://{bucket}" in text


def test_scripts_get_everything_and_the_exit_code(flowli, bucket):
    CairnBackend.open(f"file:{bucket}?durability=os")
    told: Data = json.loads(flowli("doctor", "--for", "reader", "--samples", "2", "--json"))
    assert isinstance(told, dict)
    assert (told["go"], told["process"]) == (True, "reader")
    (bucket / "stray").mkdir()
    missing = json.loads(flowli("doctor", "--json", "--storage", f"file:{bucket}/none", code=3) or "null")
    assert missing is None
    assert json.loads(flowli.errors)["error"]["exit_code"] == 3


def test_a_bucket_that_was_moved_is_a_no_go(flowli, bucket, tmp_path):
    CairnBackend.open(f"file:{bucket}?durability=os")
    flowli("start", "echo", "--arg", "text=a")
    flowli("bucket", "copy", f"file:{bucket}", f"file:{tmp_path}/other", "--cut-over")
    told = json.loads(flowli("doctor", "--json", code=3))
    assert not told["go"]
    assert f"was moved to file://{tmp_path}/other" in told["findings"][0]["text"]
    flowli("start", "echo", "--arg", "text=a", code=3)
