"""The suites, run by a stranger: failures are sentences, and the requests are reported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from flowli.adapters.memory import MemoryBackend
from flowli.domain import ports as domain_ports
from flowli.testing.suites.backend import SUITES, BackendSuite
from flowli.testing.suites.costs import CLASSES
from flowli.testing.suites.evidence import EvidenceSuite
from flowli.testing.suites.port_suite import PortSuite
from flowli.testing.suites.promises import promise_of, subject_of

STRANGER = """
from dataclasses import replace

import pytest

from flowli import CairnBackend, MemoryBackend
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import CountingStore
from flowli.testing.suites.backend import BackendSuite
from flowli.testing.suites.evidence import EvidenceSuite
from flowli.testing.suites.object_store import ObjectStoreSuite


class Forgetful:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def put(self, eid, name, data):
        await self.inner.put(eid, name, data)
        return True

    async def delete(self, eid):
        raise NotImplementedError("deleting comes later")


class TestForgetful(BackendSuite):
    @pytest.fixture
    def ports(self):
        ports = MemoryBackend().ports
        return replace(ports, evidence=Forgetful(ports.evidence))


class TestBucket(EvidenceSuite):
    @pytest.fixture
    def store(self):
        return CountingStore(MemoryStore())

    @pytest.fixture
    def counts(self, store):
        return store.since

    @pytest.fixture
    def ports(self, store):
        return CairnBackend(store).ports


class TestStore(ObjectStoreSuite):
    @pytest.fixture
    def store(self):
        return MemoryStore()
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "test_stranger.py").write_text(STRANGER)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    only = "TestForgetful and TestEvidence or TestBucket or absent_key or put_then_get"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", only, "--flowli-requests"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_failure_is_a_sentence_about_the_promise(printed: str) -> None:
    assert "BrokenPromise: Evidence breaks a promise: a body is put once.\nE       AssertionError" in printed
    assert "> " in printed, "the line that looked is shown"
    assert "Evidence breaks a promise: executions do not touch each other." in printed
    assert "NotImplementedError: deleting comes later" in printed
    assert "3 failed" in printed


def row(printed: str, name: str, section: str) -> list[int]:
    lines = printed.partition(f"\n{section}")[2].splitlines()
    found = next(line for line in lines if line.startswith(f"  {name}  "))
    return [int(cell) for cell in found.split()[-6:]]


def test_the_report_counts_the_calls_of_ports_by_promise_and_by_operation(printed: str) -> None:
    assert "requests of the promises" in printed
    section = "Evidence (TestForgetful::TestEvidence): calls of the ports"
    put, get, listed, deleted, sent, _ = row(printed, "a body is put once", section)
    assert (put, get, listed, deleted) == (2, 0, 0, 0), "it fails at the second put"
    assert sent > 100
    operations = row(printed, "evidence.put", "Operations of the ports")
    assert operations[0] > 1100
    assert operations[1:4] == [0, 0, 0]


def test_the_report_counts_the_requests_to_a_storage_that_counts_them(printed: str) -> None:
    promise, section = "put then get gives the body and its version", "ObjectStore (TestStore): requests to the storage"
    assert row(printed, promise, section) == [1, 1, 0, 0, 3, 3]
    section = "Evidence (TestBucket): requests to the storage"
    put, get, *_ = row(printed, "a body is put once", section)
    assert put >= 3, "the layout of the bucket, and each body"
    assert get >= 1


@pytest.mark.parametrize("port", ["journal", "control", "ownership", "dispatch", "queue", "channel", "timers"])
def test_every_method_of_a_port_has_a_class(port: str) -> None:
    check_classes(port)


@pytest.mark.parametrize("port", ["executions", "archive", "evidence"])
def test_every_method_of_a_small_port_has_a_class(port: str) -> None:
    check_classes(port)


def check_classes(port: str) -> None:
    implementation = type(getattr(MemoryBackend().ports, port))
    methods = {name for name in vars(implementation) if not name.startswith("_")}
    classed = [method for ports in CLASSES.values() for method in ports.get(port, "").split()]
    assert sorted(classed) == sorted(methods)


def test_there_is_a_suite_for_each_port() -> None:
    subjects = {subject_of(suite) for suite in SUITES}
    assert len(subjects) == 10
    assert all(hasattr(domain_ports, name) for name in subjects)


def test_what_a_backend_suite_holds_holds_for_each_port() -> None:
    class Mixin:
        extra = 7

    class Base(BackendSuite):
        ttl_s = 30.0

    class Backend(Mixin, Base):
        ports_to_test: tuple[type[PortSuite], ...] = (EvidenceSuite,)

        def elapse(self) -> Callable[[], None]:
            raise NotImplementedError

    made = vars(Backend)["TestEvidence"]
    assert issubclass(made, EvidenceSuite)
    assert (made.ttl_s, made.extra, made.elapse) == (30.0, 7, Backend.elapse)
    assert not [name for name in dir(made) if name.startswith("Test")], "it holds no tests of tests"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("test_a_limit_is_kept", "a limit is kept"),
        ("test_body_of_any_size[-1]", "body of any size [-1]"),
        ("odd", "odd"),
        ("test_x[a[0]\n]", "x [a[0]\n]"),
    ],
)
def test_the_name_of_a_test_is_read_as_its_promise(name: str, said: str) -> None:
    assert promise_of(name) == said
