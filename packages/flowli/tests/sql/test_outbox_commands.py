"""``flowli outbox``, and changes given to a sink of a plugin."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import create_engine, select

from flowli.adapters.cairndb import CairnBackend
from flowli.cli.operate.outbox import outbox
from flowli.cli.operate.subscriptions import subscriptions
from flowli.domain.errors import UsageError
from flowli.domain.provenance import Site
from flowli.runtime import Engine
from flowli.runtime.observe.sinks import open_sink
from flowli.sql import Outbox, Tables

from .host import registry


def flowli(folder: Path, command: object, *args: str) -> Result:
    env = {"FLOWLI_STORAGE": f"file:{folder}/bucket", "FLOWLI_ACTOR": "a"}
    return CliRunner().invoke(command, list(args), env=env)


@pytest.fixture
def url(tmp_path: Path) -> str:
    found = f"sqlite:///{tmp_path}/host.db"
    Tables().metadata.create_all(create_engine(found))
    (tmp_path / "bucket").mkdir()
    return found


def test_rows_are_carried_out_listed_tried_again_and_forgotten(tmp_path: Path, url: str) -> None:
    database, kept = create_engine(url), Outbox(Tables(), registry=registry)
    with database.begin() as connection:
        kept.start(connection, "buy", "7", key="order-7")
        lost = kept.signal_key(connection, "order-8", "news", 1)
    done = flowli(tmp_path, outbox, "run", "--once", "--json", "--database", url)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"carried_out": 1}
    listed = json.loads(flowli(tmp_path, outbox, "list", "--json", "--database", url).stdout)
    assert listed["waiting"] == 0
    assert [row["id"] for row in listed["refused"]] == [lost]
    assert "no execution was started under key 'order-8'" in listed["refused"][0]["refused"]
    shown = flowli(tmp_path, outbox, "list", "--database", url)
    assert "order-8" in shown.stdout
    assert json.loads(flowli(tmp_path, outbox, "retry", lost, "--json", "--database", url).stdout)["retried"] is True
    assert json.loads(flowli(tmp_path, outbox, "rm", lost, "--json", "--database", url).stdout)["removed"] is True
    again = flowli(tmp_path, outbox, "rm", lost, "--database", url)
    assert again.exit_code != 0
    assert "there is no row" in str(again.exception)
    wrong = flowli(tmp_path, outbox, "list", "--database", "nonsense")
    assert wrong.exit_code == 2


def test_a_subscription_gives_its_changes_to_a_sink(tmp_path: Path, url: str) -> None:
    async def filled() -> None:
        async with (
            CairnBackend.open(f"file:{tmp_path}/bucket") as backend,
            Engine(backend.ports, Site("w"), registry=registry) as engine,
        ):
            await engine.start("buy", "7")

    asyncio.run(filled())
    for _ in range(2):
        ran = flowli(tmp_path, subscriptions, "run", "shop", "--sink", f"sql:{url}", "--once", "--json")
        assert ran.exit_code == 0, ran.output
    with create_engine(url).connect() as connection:
        types = [*connection.execute(select(Tables().inbox.c.type)).scalars()]
    assert types == ["flowli.execution.created.v1"]
    for wrong in ((), ("--sink", f"sql:{url}", "--url", "https://x.example")):
        refused = flowli(tmp_path, subscriptions, "run", "shop", "--once", *wrong)
        assert refused.exit_code == 2


def test_a_sink_that_is_not_installed_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"names no sink that is installed.* There are: 'sql:'"):
        open_sink("topic:orders")
    with pytest.raises(UsageError, match="names no database"):
        open_sink("sql:nonsense")
