"""The engine from end to end on all five stores."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowli import CairnBackend, Engine, Site
from flowli.world import SYSTEM

from . import shop
from .emulators.service import Service

PATIENCE_S = 300.0
"""For as long as the host of the tests may stand still."""
RESULT = [f"a-{number}" for number in range(1, 6)]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger"
    monkeypatch.setenv(shop.LEDGER, str(path))
    return path


def lines(ledger: Path) -> list[tuple[str, int, int]]:
    said = [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []
    return [(order, int(number), int(pid)) for order, number, pid in said]


async def test_two_workers_share_executions_of_five_steps(url: str, ledger: Path) -> None:
    backends = [CairnBackend.open(url) for _ in range(3)]
    client, *workers = [
        Engine(one.ports, Site.local(f"w-{n}"), registry=shop.registry) for n, one in enumerate(backends)
    ]
    orders = [f"o{n}" for n in range(4)]
    eids = [await client.start(shop.fulfil, order, key=order) for order in orders]
    assert await client.start(shop.fulfil, "o0", key="o0") == eids[0]
    while len(lines(ledger)) < 20:
        await asyncio.gather(*(engine.worker().run_until_idle() for engine in workers))
    for eid, order in zip(eids, orders, strict=True):
        assert await client.result(eid, timeout=PATIENCE_S) == [f"{order}-{number}" for number in range(1, 6)]
    done = Counter((order, number) for order, number, _ in lines(ledger))
    assert done == {(order, number): 1 for order in orders for number in range(1, 6)}
    for engine, backend in zip((client, *workers), backends, strict=True):
        await engine.close()
        await backend.close()


class Workers:
    """Processes ``flowli worker`` on one bucket.

    Args:
        ttl: of their leases in seconds. It may be long: that a process of this host is dead is seen at once.
    """

    def __init__(self, url: str, ttl: int = 30) -> None:
        here = Path(__file__).parent
        path = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._command = [sys.executable, "-m", "flowli.cli", "worker", "--app", "shop:registry", "--storage", url]
        self._settings = {"PYTHONPATH": path, "FLOWLI_EXEC_TTL": str(ttl), "FLOWLI_TASK_TTL": str(ttl)}
        self._running: list[subprocess.Popen[bytes]] = []

    def begin(self, **environment: str) -> "subprocess.Popen[bytes]":
        everything = os.environ | self._settings | environment
        process = subprocess.Popen([*self._command, "--log-level", "error"], env=everything)
        self._running.append(process)
        return process

    def end(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def workers(url: str) -> Iterator[Workers]:
    some = Workers(url)
    yield some
    some.end()


async def test_a_worker_that_is_killed_in_a_step_is_followed_by_another(
    url: str, workers: Workers, ledger: Path
) -> None:
    if url.startswith("memory:"):
        return  # it ends with its process
    backend = CairnBackend.open(url)
    client = Engine(backend.ports, Site.local("client"), registry=shop.registry)
    eid = await client.start(shop.fulfil, "a")
    first = workers.begin(**{shop.STUCK: "3"})
    until = time.monotonic() + PATIENCE_S
    while len(lines(ledger)) < 3:
        assert first.poll() is None
        assert time.monotonic() < until
        await asyncio.sleep(0.05)
    workers.begin()
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert await client.result(eid, timeout=PATIENCE_S) == RESULT
    # what was finished before the kill stays; what was under way runs again; nobody else runs it
    assert [number for _, number, _ in lines(ledger)] == [1, 2, 3, 3, 4, 5]
    assert [pid == first.pid for _, _, pid in lines(ledger)] == [True] * 3 + [False] * 3
    await client.close()
    await backend.close()


def test_the_demo_proves_itself_on_the_clouds(service: Service, tmp_path: Path) -> None:
    """Orders and invoices, a worker killed in the middle, a second one that finishes, every effect accounted for."""
    demo = Path(__file__).parents[2] / "docs/examples/demo.py"
    options = ["--folder", tmp_path / "demo", "--storage", service.url(SYSTEM.token()), "--limit", str(PATIENCE_S)]
    options += ["--orders", "2", "--invoices", "1", "--patience", "2"]
    done = subprocess.run(
        [sys.executable, demo, *map(str, options)], capture_output=True, text=True, timeout=PATIENCE_S * 2, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
