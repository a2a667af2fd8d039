"""Backends on which patterns are tested, each with a clock that skips all waiting."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from flowli import CairnBackend, MemoryBackend, Registry
from flowli.testing.env import TestEnvironment

BACKENDS = ["memory", "cairn-memory", "cairn-file"]
if find_spec("flowli_backend_sqlite"):  # the wheel is tested alone as well, without the examples
    BACKENDS.append("rows")

Open = Callable[[Registry], TestEnvironment]


@pytest.fixture(params=BACKENDS)
def backend(request) -> str:
    return request.param


@pytest.fixture
def open_env(backend: str, tmp_path: Path) -> Open:
    """Opens an environment on a bucket of that kind."""

    def opened(registry: Registry, **options) -> TestEnvironment:
        if backend == "rows":
            from flowli_backend_sqlite.backend import SqliteBackend

            path = f"{tmp_path}/rows.db"
            return TestEnvironment(registry, ports=lambda world: SqliteBackend(path, world, "os").ports, **options)
        url = {"cairn-memory": "memory:", "cairn-file": f"file:{tmp_path}/bucket?durability=os"}.get(backend)
        if url is None:
            return TestEnvironment(registry, ports=lambda world: MemoryBackend(world).ports, **options)
        return TestEnvironment(registry, ports=lambda world: CairnBackend.open(url, world=world).ports, **options)

    return opened
