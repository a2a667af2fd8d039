"""The table of known failures names scenarios that exist, one for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowli.testing.sim.modes import ALL, ORDERS
from flowli.testing.sim.workloads import WORKLOADS

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "how-to" / "try-every-fault.md"
CRASH_CLOCK_CONCURRENCY_DURABILITY = {
    f"K{number:02}" for number in (1, 2, 4, 5, 7, 8, *range(11, 17), 19, *range(23, 31), *range(32, 38), 45, 46, 47)
}


@pytest.fixture
def rows() -> dict[str, str]:
    if not PAGE.is_file():
        pytest.skip("the documentation is not here")
    cells = (line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| K"))
    return {name: scenario for name, _, scenario in cells}


def test_every_known_failure_has_a_scenario(rows: dict[str, str]) -> None:
    assert set(rows) == CRASH_CLOCK_CONCURRENCY_DURABILITY
    assert all(rows.values())


def test_every_scenario_exists(rows: dict[str, str]) -> None:
    for name, scenario in rows.items():
        for words, known in (("workloads?", WORKLOADS), ("faults?", ALL), ("order", ORDERS)):
            for named in re.findall(rf"{words} ((?:`[^`]+`(?:, )?)+)", scenario):
                for one in re.findall("`([^`]+)`", named):
                    assert one in known, f"{name}: {one}"
        for path, test in re.findall(r"`([^`]+[.]py)::(\w+)`", scenario):
            assert f"def {test}(" in (ROOT / path).read_text(), f"{name}: {path}::{test}"
