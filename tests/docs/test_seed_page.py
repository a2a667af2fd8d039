"""What the architecture page on which flowli was founded states: its code runs, its names resolve, its tables hold."""

import importlib
import re
import typing
from dataclasses import fields
from datetime import timedelta
from uuid import uuid4

import pytest

from flowli import CairnBackend, Context, Engine, MemoryBackend, Registry, Retention, Site
from flowli.domain import ports
from flowli.stores.memory import MemoryStore

registry = Registry()


def count(text: str) -> int:
    return len(text)


@registry.workflow
async def wait_for_answer(ctx: Context, question: str) -> str:
    await ctx.step(count, question)
    await ctx.claim("first-question", question)
    answer = await ctx.receive("answer", timeout=timedelta(hours=1))
    return str(answer)


@pytest.mark.parametrize(
    "storage", [{"type": "file", "path": "bucket"}, {"type": "memory"}], ids=lambda one: one["type"]
)
async def test_the_code_block_runs(storage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "path" in storage:
        (tmp_path / "bucket").mkdir()
    backend = CairnBackend.configure({"storage": storage})
    engine = Engine(backend.ports, Site.local("w-1"), registry=registry)
    eid = await engine.start(wait_for_answer, "why?")
    assert (await engine.status(eid)).execution.workflow == "wait_for_answer"
    await engine.close()
    await backend.close()


NAMES = {
    "flowli": ["Engine", "Registry", "Site", "Consumer", "Handler"],
    "flowli.domain.execution": ["Execution"],
    "flowli.domain.memo": ["Frame"],
    "flowli.domain.tasks": ["Task"],
    "flowli.domain.channels": ["Message"],
    "flowli.domain.errors": ["LeaseLost"],
    "flowli.domain.ports": [
        "Journal",
        "ControlLog",
        "Ownership",
        "Dispatch",
        "Queue",
        "Channel",
        "Timers",
        "ExecutionStore",
        "Archive",
        "Evidence",
    ],
    "flowli.timestamp": ["Timestamp"],
    "flowli.adapters.cairndb": ["CairnBackend"],
    "flowli.adapters.memory": ["MemoryBackend"],
    "flowli.adapters.projection": ["WorkflowProjection"],
    "flowli.runtime": ["Engine", "Context", "Worker", "Sweeper", "Retention", "Consumer", "Handler"],
    "flowli.cli": [],
    "flowli.codec": [],
    "flowli.log": ["configure"],
    "flowli.evidence": [],
    "flowli.patterns": ["delegate", "review", "saga", "fan_out", "on_tick"],
    "flowli.api": ["create_app", "Authenticator", "OIDCAuthenticator"],
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in ["", *names]]
)
def test_a_name_resolves(module, name):
    found = importlib.import_module(module)
    assert not name or getattr(found, name)


def test_the_context_has_what_the_page_names():
    assert {"step", "child", "send", "receive", "sleep", "enqueue"} <= set(dir(Context))


def test_the_engine_has_what_the_page_names():
    assert {"start", "signal"} <= set(dir(Engine))


PORTS = {
    "Journal": "journal",
    "ControlLog": "control",
    "Ownership": "ownership",
    "Dispatch": "dispatch",
    "Queue": "queue",
    "Channel": "channel",
    "Timers": "timers",
    "ExecutionStore": "executions",
    "Archive": "archive",
    "Evidence": "evidence",
}


def test_there_are_these_ten_ports_and_no_other():
    annotated = {
        field.name: hint
        for field in fields(ports.Ports)
        if isinstance(hint := typing.get_type_hints(ports.Ports)[field.name], type)
        and getattr(hint, "_is_protocol", False)
    }
    assert {hint.__name__: name for name, hint in annotated.items()} == PORTS


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("backend", ["cairn", "memory"])
async def test_both_backends_implement_every_method_of_a_port(port, backend):
    opened = CairnBackend.open("memory:") if backend == "cairn" else MemoryBackend()
    implementation = getattr(opened.ports, PORTS[port])
    wanted = {name for name in vars(getattr(ports, port)) if not name.startswith("_")}
    assert wanted
    assert {name for name in wanted if not callable(getattr(implementation, name, None))} == set()


UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
KEY_LAYOUT = {
    "logs/wf/": r"logs/wf/.+",
    "logs/wf.exec.{eid}/": rf"logs/wf\.exec\.{UUID}/.+",
    "logs/wf.ch.{channel}/": rf"logs/wf\.ch\.(?:{UUID}\.)?[\w-]+/.+",
    "wf/exec/{eid}/meta": rf"wf/exec/{UUID}/meta",
    "wf/exec/{eid}/lease": rf"wf/exec/{UUID}/lease",
    "wf/dispatch/{key}": r"wf/dispatch/[^/]+",
    "wf/queues/{queue}/…": r"wf/queues/[\w-]+/.+",
    "wf/waits/{channel}/{eid}": rf"wf/waits/[^/]+/{UUID}",
    "wf/timers/{timer_id}": r"wf/timers/[^/]+",
    "wf/archive/{eid}.msgpack": rf"wf/archive/{UUID}\.msgpack",
    "wf/evidence/{eid}/…": rf"wf/evidence/{UUID}/.+",
}
BESIDE = {"wf/claims/{key}": r"wf/claims/[^/]+", "wf/layout": r"wf/layout"}
"""Keys that the page does not name; they start with ``wf/`` too."""


async def keys(store: MemoryStore) -> set[str]:
    found: set[str] = set()
    after, more = None, True
    while more:
        page = await store.list("", after=after)
        found |= {item.key for item in page.items}
        after, more = page.items[-1].key if page.items else None, page.more
    return found


@pytest.fixture
async def every_key():
    """All keys of the life of an execution, from its start to its archive."""
    name = f"key-layout-{uuid4()}"
    store = MemoryStore(name)
    backend = CairnBackend.open(f"memory:{name}")
    engine = Engine(backend.ports, Site.local("w-1"), registry=registry)
    eid = await engine.start(wait_for_answer, "why?", key="question-1")
    seen = await keys(store)
    await engine.worker().run_until_idle()
    seen |= await keys(store)
    await engine.signal(eid, "answer", "because")
    seen |= await keys(store)
    await engine.worker().run_until_idle()
    assert await engine.result(eid, timeout=5) == "because"
    await backend.ports.evidence.put(eid, "root.1.1/log", b"line")
    seen |= await keys(store)
    await Retention(engine, timedelta(0)).run_once()
    seen |= await keys(store)
    await engine.close()
    await backend.close()
    return seen


async def test_every_key_has_a_row_in_the_key_layout(every_key):
    patterns = [re.compile(pattern) for pattern in (KEY_LAYOUT | BESIDE).values()]
    assert {key for key in every_key if not any(pattern.fullmatch(key) for pattern in patterns)} == set()
    assert all(key.startswith(("wf/", "logs/wf")) for key in every_key)


async def test_every_row_of_the_key_layout_has_keys(every_key):
    unused = [row for row, pattern in KEY_LAYOUT.items() if not any(re.fullmatch(pattern, key) for key in every_key)]
    assert unused == []


@pytest.mark.parametrize("command", ["worker", "sweeper", "retention"])
def test_each_process_is_a_command(command):
    from click import Command

    from flowli.descriptors import CommandType
    from flowli.plugins import manager

    assert isinstance(manager().all(CommandType)[command].load(), Command)


def test_the_documentation_repeats_the_tables(docs, table):
    def first_cells(page: str, header: str) -> list[str]:
        return [row[0].strip("`") for row in table(docs / page, header)]

    assert first_cells("reference/ports.md", "| Port | Purpose") == list(PORTS)
    processes = first_cells("reference/processes.md", "| Process | Command")
    assert processes == ["worker", "sweeper", "retention", "HTTP service", "consumer"]
    layout = "\n".join(first_cells("reference/key-layout.md", "| Key or log |"))
    for row in KEY_LAYOUT:
        assert row.rstrip("…") in layout
    guarantees = first_cells("explanation/concepts.md", "| Guarantee |")
    assert len(guarantees) == 7
    concepts = (docs / "explanation/concepts.md").read_text()
    for line in (
        "the order between two channels",
        "the order between the journal and the control log",
        "exactly-once external effects of a step",
    ):
        assert f"- {line}" in concepts
