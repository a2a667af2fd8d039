"""``flowli subscriptions``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from flowli.adapters.cairndb import CairnBackend
from flowli.cli.operate.subscriptions import subscriptions
from flowli.domain.provenance import Site
from flowli.runtime import Context, Engine, Registry
from flowli.runtime.observe import webhook

registry = Registry()


@registry.workflow
async def works(ctx: Context) -> None:
    return None


async def filled(url: str) -> None:
    async with CairnBackend.open(url) as backend, Engine(backend.ports, Site("w"), registry=registry) as engine:
        await engine.start(works)
        async with engine.worker() as worker:
            await worker.run_until_idle()


def flowli(url: str, *args: str) -> Result:
    env = {
        "FLOWLI_STORAGE": url,
        "FLOWLI_SUBSCRIPTIONS_RUN_SECRET": "a secret that is long enough",
        "FLOWLI_ACTOR": "a",
    }
    return CliRunner().invoke(subscriptions, list(args), env=env, auto_envvar_prefix="FLOWLI_SUBSCRIPTIONS")


def test_a_subscription_is_run_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    url, posted = f"file:{tmp_path}/bucket", list[dict[str, Any]]()
    asyncio.run(filled(url))

    async def post(to: str, body: bytes, headers: Any) -> int:
        posted.append(json.loads(body))
        return 200

    monkeypatch.setattr(webhook, "_httpx_post", lambda: post)
    ran = flowli(url, "run", "ops", "--url", "https://ops.example/h", "--change", "completed", "--once", "--json")
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout) == {"name": "ops", "delivered": 1}
    assert [one["type"] for one in posted] == ["flowli.execution.completed.v1"]
    (listed,) = json.loads(flowli(url, "list", "--json").stdout)
    assert (listed["name"], listed["holder"], listed["dead"]) == ("ops", None, [])
    assert "ops" in flowli(url).stdout
    assert json.loads(flowli(url, "rm", "ops", "--json").stdout) == {"name": "ops", "removed": True}
    assert json.loads(flowli(url, "list", "--json").stdout) == []


def test_a_change_that_does_not_exist_is_refused_with_one_that_is_near(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/bucket"
    (tmp_path / "bucket").mkdir()
    ran = flowli(url, "run", "ops", "--url", "https://ops.example/h", "--change", "complete", "--once")
    assert ran.exit_code != 0
    assert isinstance(ran.exception, click.ClickException | SystemExit) or "completed" in str(ran.exception)
