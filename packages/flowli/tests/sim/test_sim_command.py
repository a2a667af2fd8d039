"""``flowli sim``: what it finds is repeated by the line that it prints; applications and stores of others."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from flowli.cairn.write import Won
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.sim.campaign import BUDGETS, Campaign
from flowli.testing.sim.command import sim
from flowli.testing.sim.modes import Case, run_case
from flowli.testing.sim.workloads import WORKLOADS


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(__file__).parent)
    return lambda *arguments: CliRunner().invoke(sim, list(arguments))


def test_a_planted_failure_is_repeated_by_the_line_that_it_prints(run) -> None:
    found: Result = run("--workloads", "sim_planted:WORKLOADS", "--mode", "sweep")
    assert found.exit_code == 1
    line = found.output.splitlines()[-1].partition(": ")[2]
    assert shlex.split(line)[:2] == ["flowli", "sim"]
    told = run(*shlex.split(line)[2:])
    assert told.exit_code == 1
    assert "DieAfter()" in told.output
    assert told.output.rstrip().endswith("S4: planted")


def test_what_violates_nothing_is_told_as_a_story(run) -> None:
    told = run("--case", "steps:1:ttl:hosts:0:vanish@60", "--reads")
    assert told.exit_code == 0
    assert "nothing was violated" in told.output


def test_the_workflows_of_an_application_end_as_they_do_without_faults(run) -> None:
    found = run("--app", "sim_planted:registry", "--start", "bill [21]", "--start", "wait", "--mode", "storm")
    assert found.exit_code == 0, found.output
    assert found.output.startswith("3 runs (sweep 0, freeze 0, storm 3), ")


def test_a_search_ends_when_its_minutes_are_over(run) -> None:
    found = run("--workload", "steps", "--minutes", "0")
    assert found.output.startswith("0 runs (sweep 0, freeze 0, storm 0), 0 operations")


def test_the_order_of_a_search_is_drawn_by_the_seed() -> None:
    campaigns = [Campaign({"steps": WORKLOADS["steps"]}, seed) for seed in (1, 1, 2)]
    world = ManualWorld(ManualClock())
    orders = [[*each.drawn(campaigns[0].cases("sweep", BUDGETS["small"]), 1.0, world)] for each in campaigns]
    assert orders[0] == orders[1] != orders[2]
    assert set(orders[0]) == set(orders[2])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--app", "sim_planted:registry"], "--app needs --start"),
        (["--app", "sim_planted:drive2", "--start", "bill"], "cannot be imported"),
        (["--app", "sim_planted:WORKLOADS", "--start", "bill"], "is no Registry"),
        (["--app", "sim_planted:registry", "--start", "bill [2"], "are no JSON"),
        (["--workloads", "sim_planted:registry"], "is no dict"),
        (["--workload", "nothing"], "there is no workload 'nothing'"),
        (["--case", "nonsense"], "names no run"),
    ],
)
def test_what_cannot_be_run_is_told(run, arguments: list[str], told: str) -> None:
    found = run(*arguments)
    assert found.exit_code == 2
    assert told in found.output


def test_a_store_is_tried_under_the_traffic_of_the_engine(run, tmp_path: Path) -> None:
    storage = f"file:{tmp_path}/bucket?durability=os"
    found = run("--storage", storage, "--workload", "steps", "--mode", "storm")
    assert found.exit_code == 0, found.output
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "sim" in path.parts]


def test_a_store_that_ignores_a_condition_is_found() -> None:
    class Careless(MemoryStore):
        async def put(self, key, data, *, if_absent=False, if_version=None):
            result = await super().put(key, data)
            assert isinstance(result, Won)
            return result

    outcome, _ = run_case(Case("keyed", 1, ((100, "vanish"),)), store=Careless())
    assert any(problem.startswith("B: the store answered put") for problem in outcome.problems)


def test_a_sound_store_answers_as_the_bucket_does() -> None:
    campaign = Campaign({"receive": WORKLOADS["receive"]}, store=MemoryStore())
    for _ in campaign.run(campaign.cases("sweep", BUDGETS["small"])):
        pass
    assert campaign.findings == []
