"""One contract, the same tests, five stores; and one table of outcomes, SQLite beside them, which the guide prints."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flowli.cairn.store import ObjectStore
from flowli.stores import open_store
from flowli.testing.suites.object_store import ObjectStoreSuite

from .outcomes import ROWS, outcomes

PAGE = Path(__file__).parents[2] / "docs/how-to/buckets.md"
COLUMNS = {"memory": 1, "file": 2, "s3": 3, "az": 4, "gs": 5, "sqlite": 6}


@pytest.fixture
async def store(url: str) -> AsyncIterator[ObjectStore]:
    opened = open_store(url)
    yield opened
    await opened.close()


class TestEveryStore(ObjectStoreSuite):
    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[ObjectStore]:
        opened = open_store(url)
        yield opened
        await opened.close()


def printed() -> list[list[str]]:
    """The rows of the table in the guide: the operation, then the outcome on each store."""
    table = PAGE.read_text().partition("| operation |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


async def test_the_guide_prints_what_every_store_answers(store, url):
    """STO-13, K03, K10: the same refusal, whatever status the service gives it."""
    column = COLUMNS[url.partition(":")[0]]
    assert {row[0]: row[column].strip("`") for row in printed()} == await outcomes(store)


async def test_a_sqlite_file_answers_the_same(tmp_path):
    store = open_store(f"sqlite:{tmp_path}/bucket.db")
    assert {row[0]: row[COLUMNS["sqlite"]].strip("`") for row in printed()} == await outcomes(store)
    await store.close()


def test_the_outcomes_are_identical_on_all_stores():
    assert [row[0] for row in printed()] == list(ROWS)
    assert [row for row in printed() if len(set(row[1:])) != 1 or len(row) != 7] == []
    assert len(re.findall(r"^\| operation \|", PAGE.read_text(), re.MULTILINE)) == 1
