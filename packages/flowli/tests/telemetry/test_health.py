"""The pages of one process."""

from __future__ import annotations

import asyncio
import json

from structlog.testing import capture_logs

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.errors import StorePermission
from flowli.cairn.observe import observed
from flowli.cli.jobs.health import Pages
from flowli.cli.options import Settings
from flowli.cli.render.screen import Screen
from flowli.cli.session import Session
from flowli.domain.provenance import Site
from flowli.runtime import Context, Engine, Registry
from flowli.stores.memory import MemoryStore
from flowli.telemetry.health import Health
from flowli.telemetry.scrape import MISSING
from flowli.testing.stores import Fault, FaultStore, Refuse

registry = Registry()


@registry.workflow
async def works(ctx: Context) -> None:
    return None


def engine(store: object | None = None) -> Engine:
    return Engine(CairnBackend(store or MemoryStore()).ports, Site.local("w"), registry=registry)  # type: ignore[arg-type]


async def ask(health: Health, request: bytes) -> tuple[str, str]:
    return await fetch(health.port, request)


async def fetch(port: int, request: bytes) -> tuple[str, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return head.partition("\r\n")[0], body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def test_a_process_tells_over_http_that_it_is_alive_and_ready_and_what_waits() -> None:
    working = engine()
    await working.start(works)
    async with Health(working, concurrency=1) as health:
        await health.look()
        assert await ask(health, get("/live")) == ("HTTP/1.1 200 OK", "alive\n")
        assert await ask(health, get("/ready?full=1")) == ("HTTP/1.1 200 OK", "ready\n")
        assert await ask(health, b"HEAD /live HTTP/1.1\r\n\r\n") == ("HTTP/1.1 200 OK", "")
        (load,) = json.loads((await ask(health, get("/queues")))[1])
        assert (load["queue"], load["backlog"], load["desired_workers"]) == ("default", 1, 1)
        assert (await ask(health, b"POST /live HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 405 Method Not Allowed"
        assert (await ask(health, get("/")))[0] == "HTTP/1.1 404 Not Found"
        assert (await ask(health, b"nonsense\r\n\r\n"))[0] == "HTTP/1.1 405 Method Not Allowed"


async def test_who_drains_is_alive_but_not_ready() -> None:
    health = Health(engine())
    await health.look()
    health.draining = True
    assert health.answer("GET", "/live")[0] == 200
    assert health.answer("GET", "/ready") == (503, "text/plain; charset=utf-8", "it drains: it takes nothing new\n")


async def test_before_the_first_look_and_when_the_bucket_refuses_it_is_not_ready() -> None:
    store = FaultStore(MemoryStore(), [Fault(Refuse(StorePermission("no rights")), verb="*", times=99)])
    health = Health(engine(store))
    assert health.answer("GET", "/ready")[0] == 503
    await health.look()
    status, _, text = health.answer("GET", "/ready")
    assert status == 503
    assert text.startswith("the bucket does not answer:")


def test_without_the_exporter_it_says_what_to_install() -> None:
    assert Health(engine()).answer("GET", "/metrics") == (501, "text/plain; charset=utf-8", f"{MISSING}\n")


async def test_the_pages_of_a_worker_tell_what_its_engine_and_its_bucket_did() -> None:
    pages = Pages.at("127.0.0.1", 0)
    assert pages.requests is not None
    store = observed(MemoryStore(), pages.requests)
    working = engine(store)
    session = Session(working, Screen(json_wanted=False), Settings(), None, has_app=True)
    with capture_logs() as logs:
        async with pages.shown(session, ["default"]) as drains, working:
            async with working.worker() as worker:
                await working.start(works)
                await worker.run_until_idle()
            await working.close()
            (url,) = (log["url"] for log in logs if "url" in log)
            port = int(url.split(":")[2].partition("/")[0])
            text = (await fetch(port, get("/metrics")))[1]
            assert 'flowli_execution_changes_total{change="completed"' in text
            assert "flowli_storage_requests_total{" in text
            drains()
            assert (await fetch(port, get("/ready")))[0] == "HTTP/1.1 503 Service Unavailable"


async def test_without_a_port_there_are_no_pages_and_nothing_is_measured() -> None:
    pages, working = Pages.at("127.0.0.1", None), engine()
    session = Session(working, Screen(json_wanted=False), Settings(), None, has_app=True)
    assert pages.requests is None
    async with pages.shown(session, None) as drains:
        drains()
    assert not working.observers.active
