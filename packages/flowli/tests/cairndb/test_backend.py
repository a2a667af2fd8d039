"""Opening, checking, forking and closing a backend."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.layout import LAYOUT_KEY
from flowli.domain.errors import BackendRefused, BackendUnavailable
from flowli.domain.ports import Ports
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualWorld
from flowli.testing.stores import CountingStore
from flowli.testing.suites.port_suite import new_eid, record
from flowli.world import SYSTEM


def test_opening_makes_no_request(tmp_path: Path) -> None:
    backend = CairnBackend.open(f"file:{tmp_path}/bucket")
    assert isinstance(backend.ports, Ports)
    assert backend.url == f"file://{tmp_path}/bucket"
    assert not (tmp_path / "bucket" / "wf").exists()


@pytest.mark.parametrize(
    "storage", ["memory:", {"type": "memory"}, {"type": "memory", "name": "shared"}], ids=["url", "dict", "named"]
)
async def test_storage_is_named_by_url_or_by_dict(storage: object) -> None:
    async with CairnBackend.configure({"storage": storage}) as backend:
        execution = record()
        assert await backend.ports.executions.put(execution)
        assert await backend.ports.executions.get(execution.eid) == execution


async def test_a_folder_by_dict(tmp_path: Path) -> None:
    async with CairnBackend.configure({"storage": {"type": "file", "path": str(tmp_path / "b")}}) as backend:
        await backend.check()
    assert (tmp_path / "b").is_dir()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "no 'storage'"),
        ({"storage": 7}, "no 'storage'"),
        ({"storage": {"type": "memory"}, "queue": "x"}, "no setting 'queue'"),
        ({"storage": "nonsense"}, "not a storage URL"),
        ({"storage": {"path": "x"}}, "'type'"),
        ({"storage": {"type": "memory", "size": 3}}, "'size'"),
        ({"storage": "ftp:host"}, "ftp"),
    ],
)
def test_a_wrong_configuration_says_what_to_write(config: dict[str, object], told: str) -> None:
    with pytest.raises(BackendRefused, match=told):
        CairnBackend.configure(config)


async def test_a_newer_layout_is_refused_naming_both_versions(store: CountingStore, world: ManualWorld) -> None:
    """STO-8."""
    await store.put(LAYOUT_KEY, b'{"v":1,"write_ids":["a"],"layout":99,"formats":{}}')
    backend = CairnBackend(store, world=world)
    mark = store.snapshot()
    for call in (backend.check(), backend.ports.executions.put(record()), backend.ports.queue.queues()):
        with pytest.raises(BackendRefused, match=r"99.*\b1\b"):
            await call
    assert store.since(mark).put == 0


async def test_a_store_that_ignores_conditions_is_refused_by_name(world: ManualWorld) -> None:
    """STO-10."""

    class Careless(MemoryStore):
        async def put(self, key, data, *, if_absent=False, if_version=None):  # type: ignore[no-untyped-def]
            return await super().put(key, data)

    backend = CairnBackend(Careless(world=world), world=world)
    with pytest.raises(BackendRefused, match="put-if-absent"):
        await backend.ports.executions.put(record())


async def test_the_check_is_made_once_and_a_failed_one_again(store: CountingStore, world: ManualWorld) -> None:
    backend = CairnBackend(store, world=world)
    await asyncio.gather(*(backend.check() for _ in range(5)), backend.ports.executions.get(new_eid()))
    mark = store.snapshot()
    await backend.check()
    assert store.snapshot() == mark
    second = CairnBackend(store, world=world)
    await second.check()
    assert store.since(mark).put == 0  # a bucket that is known to be good is not tried out again


async def test_a_fork_serves_another_thread(tmp_path: Path) -> None:
    backend = CairnBackend.open(f"file:{tmp_path}/bucket?durability=os")
    execution = record()
    await backend.ports.executions.put(execution)
    found = []
    assert backend.ports.fork is not None
    ports = backend.ports.fork

    def elsewhere() -> None:
        async def read() -> None:
            found.append(await ports().executions.get(execution.eid))

        asyncio.run(read())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.get_running_loop().run_in_executor(None, thread.join)
    assert found == [execution]
    await backend.close()


async def test_two_prefixes_never_see_each_other(tmp_path: Path) -> None:
    """STO-9."""
    one = CairnBackend.open(f"file:{tmp_path}/one?durability=os")
    other = CairnBackend.open(f"file:{tmp_path}/two?durability=os")
    execution = record()
    await one.ports.executions.put(execution)
    assert await other.ports.executions.get(execution.eid) is None
    await one.close()
    await other.close()


def test_a_folder_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "bucket").write_text("a file")
    with pytest.raises((BackendRefused, BackendUnavailable), match="bucket"):
        CairnBackend.open(f"file:{tmp_path}/bucket", world=SYSTEM)
