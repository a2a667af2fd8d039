from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from flowli.adapters.memory import MemoryBackend
from flowli.client import Client, connect
from flowli.domain.errors import BackendRefused, InvalidName, NotAllowed, ResultTimeout, UnknownExecution, UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import Ports
from flowli.runtime.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def client() -> Iterator[Client]:
    with connect(lambda: MemoryBackend().ports) as client:
        yield client


def test_a_client_needs_no_event_loop(client: Client) -> None:
    """STA-19."""
    eid = client.start("greet", "Ada", version="1")
    assert client.status(eid).status is ExecutionStatus.PENDING
    assert client.signal(eid, "signature", {"by": "Ada"}) == 1
    client.cancel(eid, "enough")
    client.terminate(eid, "enough")
    assert client.status(eid).status is ExecutionStatus.CANCELLED
    assert [entry.body.tag for entry in client.journal(eid)] == ["execution.started", "execution.cancelled"]


async def test_a_client_works_while_an_event_loop_runs(client: Client) -> None:
    """STA-19."""
    eid = client.start("greet", "Ada", version="1", key="k")
    assert client.start_args("greet", ["Ada"], version="1", key="k").joined
    with pytest.raises(ResultTimeout):
        client.result(eid, timeout=0.01)
    assert asyncio.get_running_loop().is_running()


def test_errors_come_as_they_are(client: Client) -> None:
    with pytest.raises(UnknownExecution):
        client.status("0197a1b2-0000-7000-8000-000000000000")
    with pytest.raises(InvalidName):
        client.result("x")


def test_any_thread_may_call(client: Client) -> None:
    eids: list[object] = []
    threads = [
        threading.Thread(target=lambda: eids.append(client.start("greet", "Ada", version="1"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(eids)) == 8


def test_a_closed_client_says_so() -> None:
    client = connect(lambda: MemoryBackend().ports)
    client.close()
    client.close()
    with pytest.raises(UsageError, match="closed"):
        client.start("greet", version="1")


def test_a_backend_that_cannot_be_opened_is_an_error_at_once() -> None:
    def opened() -> Ports:
        raise BackendRefused("no such bucket")

    with pytest.raises(BackendRefused, match="no such bucket"):
        connect(opened)


def test_a_bucket_in_a_folder_is_shared_by_clients(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/bucket?durability=os"
    with connect(url) as first, connect(url) as second:
        eid = first.start("greet", "Ada", version="1", key="k")
        assert second.start("greet", "Ada", version="1", key="k") == eid
        assert second.status(eid).status is ExecutionStatus.PENDING


def test_a_url_that_cannot_be_opened_is_an_error_at_once() -> None:
    with pytest.raises(BackendRefused, match="nosuch"):
        connect("nosuch:bucket")


def test_every_verb_of_a_client_is_one_of_the_engine() -> None:
    own = {name for name in vars(Client) if not name.startswith("_")} - {"close"}
    elsewhere = {"role", "worker", "sweeper", "retention", "close"}  # they live on an event loop
    held = {"known_code", "explainers"}  # what the engine remembers for them
    verbs = {name for name in dir(Engine) if not name.startswith("_")} - elsewhere - held
    assert verbs == own


def test_a_client_makes_executions_anew_and_erases_them(client: Client) -> None:
    eid = client.start("greet", "Ada", version="1")
    client.terminate(eid)
    again = client.replay(eid, "once more")
    assert client.status(again).execution.args == {"args": ["Ada"], "kwargs": {}}
    client.erase(eid, "request 17")
    assert client.status(eid).erased
    with pytest.raises(NotAllowed):
        client.retry(eid)
    with pytest.raises(NotAllowed):
        client.fork(eid, "root")


def test_a_client_asks_and_looks(client: Client) -> None:
    eid = client.start("greet", "Ada", version="1")
    with pytest.raises(ResultTimeout):
        client.update(eid, "add", "lamp", timeout=0.01)
    assert client.published(eid, "progress") is None
    assert client.read_stream(eid, "words").items == ()
