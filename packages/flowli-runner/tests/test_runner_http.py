"""Working through the HTTP service: the same handler; what it keeps arrives as through the ports."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from flowli import Engine, MemoryBackend, Registry, Site
from flowli.world import SYSTEM
from flowli_runner.contracts import Change, Outcome, Report, from_data
from flowli_runner.process.handle import Handle, is_alive
from flowli_runner.process.supervisor import marked
from flowli_runner.runner import Runner
from flowli_runner.work.records import record_eid

from .runner_kit import command_lines, config_of, envelope, git, make_repository, until

pytest.importorskip("flowli_api")
httpx = pytest.importorskip("httpx")

CANARY = "canary-4711-secret"


@dataclass
class Office:
    """A service in this process, its engine, and who works through it."""

    engine: Engine
    transport: Any
    token: str
    client: Any
    reader: Any
    place: Path
    repository: Path
    eid: Any = None

    def runner(self, **more: Any) -> Any:
        from flowli_runner.remote.run import RemoteRunner

        return RemoteRunner(config_of(self.place, self.repository, **more), self.client, wait_s=0)

    async def delegate(self, payload: dict[str, Any]) -> str:
        """The id of the new task."""
        self.eid = await self.engine.start("delegating", payload)
        await self.engine.worker().run_until_idle()
        (view,) = [view for view in await self.engine.ports.queue.list("agents") if view.task.target == self.eid]
        return view.task.task_id

    async def report(self) -> Report:
        await self.engine.worker().run_until_idle()
        answer = await self.engine.result(self.eid, timeout=60)
        assert answer["outcome"] == "completed", answer
        return from_data(Report, answer["value"], "report")

    async def names(self) -> list[str]:
        """Of the evidence, as the service tells them."""
        found = (await self.reader.get(f"/v1/executions/{self.eid}/evidence")).json()["names"]
        return [name for name in found if name.startswith("delegate-")]

    async def body(self, name: str) -> bytes:
        return (await self.reader.get(f"/v1/executions/{self.eid}/evidence/{name}")).content

    async def handle(self, task_id: str) -> Handle:
        """Of the agent that was started for a task."""
        for _ in range(5000):
            lease = await self.engine.ports.ownership.read(record_eid(task_id))
            text = None if lease is None or not isinstance(lease.state, dict) else lease.state.get("handle")
            if text and (handle := Handle.of(json.loads(str(text)))):
                return handle
            await SYSTEM.sleep(0.02)
        raise AssertionError("no agent was started")


@pytest.fixture
async def office(tmp_path):
    from flowli_api.app import create_app
    from flowli_api.auth.identity import Identity
    from flowli_api.auth.static import StaticAuthenticator
    from flowli_api.client.asynchronous import AsyncClient
    from flowli_api.config import ApiConfig

    registry = Registry()

    @registry.workflow
    async def delegating(ctx, payload: dict) -> object:
        await ctx.enqueue("agents", payload, reply_to="reply")
        return await ctx.receive("reply", timeout=3600.0)

    engine = Engine(MemoryBackend(SYSTEM).ports, Site("api"), registry=registry)
    consumer, reader = (f"the-token-of-{who}-{'x' * 12}" for who in ("agent", "reader"))
    known = {
        consumer: Identity("agent", capabilities=frozenset({"tasks:consume:agents"})),
        reader: Identity("reader", capabilities=frozenset({"admin"})),
    }
    config = ApiConfig(rate_per_s=None, fresh_s=0.0, poll_s=0.01, interface=False)
    app = create_app(engine, authenticator=StaticAuthenticator(known), config=config)
    transport = httpx.ASGITransport(app)
    client = AsyncClient("http://flowli.test", consumer, transport=transport)
    headers = {"authorization": f"Bearer {reader}"}
    reading = httpx.AsyncClient(transport=transport, base_url="http://flowli.test", headers=headers)
    yield Office(engine, transport, consumer, client, reading, tmp_path, make_repository(tmp_path / "repo"))
    await client.close()
    await reading.aclose()
    await app.state.service.close()
    await engine.close()


async def test_what_is_kept_arrives_in_the_bucket_as_through_the_ports(office, tmp_path, monkeypatch):
    """Transcript, diff, output of checks and attachments, masked, also over the limit of a request."""
    monkeypatch.setenv("MY_TOKEN", CANARY)
    script = tmp_path / "agent.py"
    script.write_text(
        "import os, pathlib\n"
        "print('I know', os.environ['MY_TOKEN'])\n"
        "pathlib.Path('src/big').write_text('a line of text\\n' * 100_000)\n"
        "pathlib.Path(os.environ['FLOWLI_ATTACHMENTS'], 'shot.png').write_bytes(b'png')\n"
    )
    runner = office.runner()
    setup = runner.means.setups["fake"]
    changed = replace(setup, argv=("python3", str(script)), pass_env=("MY_TOKEN",))
    runner.means.setups["fake"] = changed
    runner.means.agents.update(made(changed))
    await office.delegate(envelope(checks=[{"name": "size", "argv": ["wc", "-l", "src/big"]}]))
    assert await runner.run_once() == 1
    report = await office.report()
    assert report.outcome is Outcome.COMPLETED
    kept = {one.name.rpartition("/")[2]: one for one in report.evidence}
    assert {what: one.media_type for what, one in kept.items()} == {
        "transcript-00001": "text/plain",
        "diff": "text/x-diff",
        "check-1": "text/plain",
        "attachment-shot.png": "image/png",
    }
    assert await office.names() == sorted(one.name for one in report.evidence)
    bodies = {what: await office.body(one.name) for what, one in kept.items()}
    assert bodies["transcript-00001"] == b"I know [masked]\n"
    assert bodies["check-1"] == b"100000 src/big\n"
    assert bodies["attachment-shot.png"] == b"png"
    assert bodies["diff"].count(b"+a line of text\n") == 100_000
    assert len(bodies["diff"]) > 1_048_576


LEAKING = """
import json, os, pathlib, sys, time
secret, note = os.environ["MY_TOKEN"], pathlib.Path(os.environ["FLOWLI_ATTACHMENTS"], "note.txt")
print("https://user:" + secret + "@host/x", dict(os.environ), flush=True)
print(secret, file=sys.stderr, flush=True)
for path in (pathlib.Path("src/x"), note):
    path.write_text(secret)
said = json.dumps({"summary": secret, "claims": [secret]})
pathlib.Path(os.environ["FLOWLI_REPORT_FILE"]).write_text(said)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
sys.exit(1)
"""


async def test_secrets_are_in_no_answer_and_no_argument_of_a_process(office, tmp_path, monkeypatch, capfd, caplog):
    """K49: what the service tells of an execution, /proc while the agent works, the log, the files of the runner."""
    monkeypatch.setenv("MY_TOKEN", CANARY)
    script = tmp_path / "agent.py"
    script.write_text(LEAKING)
    runner = office.runner()
    argv = ("python3", str(script), str(tmp_path / "go"))
    changed = replace(runner.means.setups["fake"], argv=argv, pass_env=("MY_TOKEN",))
    runner.means.setups["fake"] = changed
    runner.means.agents.update(made(changed))
    task_id = await office.delegate(envelope(checks=[{"name": "leak", "argv": ["cat", "src/x"]}]))
    working = asyncio.ensure_future(runner.run_once())
    handle = await office.handle(task_id)
    await until((tmp_path / "work/attempts" / handle.attempt / "report.json").exists)
    arguments = command_lines()
    (tmp_path / "go").touch()
    await working
    report = await office.report()
    assert report.outcome is Outcome.FAILED
    answers = [repr(report).encode()]
    for path in ("", "/journal", "/frames", "/result", "/evidence", "/logs", "/explain"):
        answers.append((await office.reader.get(f"/v1/executions/{office.eid}{path}")).content)
    answers += [await office.body(name) for name in await office.names()]
    assert b"[masked]" in b"".join(answers)
    files = [one.read_bytes() for one in (tmp_path / "work").rglob("*") if one.is_file()]
    told = capfd.readouterr()
    places = {
        "arguments": b"".join(arguments.values()),
        "answers": b"".join(answers),
        "files": b"".join(files),
        "git config": (office.repository / ".git/config").read_bytes(),
        "log": (told.out + told.err + caplog.text).encode(),
    }
    assert {name: body.count(CANARY.encode()) for name, body in places.items()} == dict.fromkeys(places, 0)


def made(setup: Any) -> dict[str, Any]:
    from flowli_runner.agents.finding import make_agents

    return make_agents([setup], SYSTEM)


async def test_a_transcript_is_read_through_the_service_while_the_agent_works(office, tmp_path):
    await office.delegate(envelope("@say first", f"@wait {tmp_path / 'go'}", "@say second", "@write src/x 1"))
    working = asyncio.ensure_future(office.runner().run_once())
    while not (names := await office.names()):
        assert not working.done()
        await SYSTEM.sleep(0.05)
    assert [await office.body(name) for name in names] == [b"first\n"]
    (tmp_path / "go").touch()
    await working
    report = await office.report()
    told = [one.name for one in report.evidence if "transcript" in one.name]
    assert b"".join([await office.body(name) for name in told]) == b"first\nsecond\n"


async def test_nothing_is_left_behind_through_the_service(office, tmp_path):
    task_id = await office.delegate(envelope("@write src/x 1", "@fork"))
    await office.runner().run_once()
    report = await office.report()
    assert (report.outcome, report.changes) == (Outcome.COMPLETED, (Change("A", "src/x"),))
    assert git(office.repository, "show", f"{report.branch}:src/x") == "1"
    assert len(git(office.repository, "worktree", "list").splitlines()) == 1
    assert marked(report.attempt) == []
    assert await office.engine.ports.ownership.read(record_eid(task_id)) is None
    assert list((tmp_path / "work/held").iterdir()) == []
    assert list((tmp_path / "work/attempts").iterdir()) == []


async def test_a_drained_runner_leaves_its_agent_to_one_that_works_through_the_ports(office, tmp_path):
    """Both keep their records in one place."""
    task_id = await office.delegate(envelope("@write src/x 1", f"@wait {tmp_path / 'go'}", "@write src/y 2"))
    first = office.runner(drain_s=0.0)
    running = asyncio.ensure_future(first.run())
    handle = await office.handle(task_id)
    await until((tmp_path / "work/trees" / handle.attempt / "src/x").exists)
    await first.drain()
    await running
    assert is_alive(SYSTEM, handle)
    (tmp_path / "go").touch()
    await Runner(config_of(tmp_path, office.repository), office.engine.ports).run_once()
    report = await office.report()
    assert (report.outcome, report.attempt) == (Outcome.COMPLETED, handle.attempt)
    assert {one.path for one in report.changes} == {"src/x", "src/y"}


async def test_scopes_are_held_against_runners_at_the_bucket(office, tmp_path):
    """K47."""
    first_id = await office.delegate(envelope(f"@wait {tmp_path / 'go'}"))
    first = asyncio.ensure_future(office.runner().run_once())
    await office.handle(first_id)
    second_id = await office.delegate(envelope("@say second", write_scopes=["src/app.py"]))
    await Runner(config_of(tmp_path, office.repository), office.engine.ports).run_once()
    found = await office.engine.ports.ownership.read(record_eid(second_id))
    assert found is not None
    assert not found.state
    await office.runner().run_once()  # the task was given back for a while: there is none
    (tmp_path / "go").touch()
    await first
    assert [view.task.task_id for view in await office.engine.ports.queue.list("agents")] == [second_id]


async def test_work_that_nobody_waits_for_any_more_is_ended_through_the_service(office, tmp_path, monkeypatch):
    monkeypatch.setattr("flowli_runner.work.handler._LOOKS_PER_WATCH", 1)
    task_id = await office.delegate(envelope("@write src/x 1", "@hang"))
    working = asyncio.ensure_future(office.runner(ttl_s=3.0).run_once())
    handle = await office.handle(task_id)
    await office.engine.terminate(office.eid, reason="enough")
    await office.engine.worker().run_until_idle()
    await working
    assert marked(handle.attempt) == []
    assert await office.engine.ports.queue.list("agents") == []


async def test_an_answer_that_was_lost_is_given_again_from_the_record(office, tmp_path, monkeypatch):
    """The runner dies between the report and the answer."""
    runs = tmp_path / "runs"
    await office.delegate(envelope(f"@write {runs} 1"))
    first = office.runner()
    sent = type(office.client).send

    async def dying(self, call):
        if call.path == "/v1/tasks/deliver":
            raise httpx.ConnectError("the network is away")
        return await sent(self, call)

    with monkeypatch.context() as patch:
        patch.setattr(type(office.client), "send", dying)
        await first.run_once()
    (lease,) = await office.engine.ports.queue.dequeue("agents", "nobody", 30.0) or [None]
    assert lease is None  # still held by the first
    give_back_what_the_dead_hold(tmp_path)
    await office.runner().run_once()
    assert (await office.report()).outcome is Outcome.COMPLETED
    assert runs.read_text() == "1\n"


def give_back_what_the_dead_hold(place: Path) -> None:
    """Make the process that holds all tokens of a runner one that has ended."""
    for path in (place / "work/held").glob("*.json"):
        found = json.loads(path.read_text())
        path.write_text(json.dumps({**found, "process": {**found["process"], "pid": 2**22 + 1, "started": "1"}}))


async def test_what_a_killed_runner_held_is_free_at_the_next_start(office, tmp_path, monkeypatch):
    """Task and scopes come back at once, and not when their time is over."""
    from flowli_api.client.asynchronous import AsyncClient

    task_id = await office.delegate(envelope("@write src/x 1", f"@wait {tmp_path / 'go'}", "@say done"))
    dead = asyncio.Event()
    send = AsyncClient.send

    async def sent(client, call):
        if client is dying and dead.is_set():
            await asyncio.Event().wait()  # a process that is gone says nothing more
        return await send(client, call)

    monkeypatch.setattr(AsyncClient, "send", sent)
    dying, alive = office.client, AsyncClient("http://flowli.test", office.token, transport=office.transport)
    first = asyncio.ensure_future(office.runner().run_once())
    handle = await office.handle(task_id)
    await until((tmp_path / "work/trees" / handle.attempt / "src/x").exists)
    dead.set()
    office.client = alive
    held = {path.name.partition("-")[0] for path in (tmp_path / "work/held").glob("*.json")}
    assert held == {"task", "scope", "state"}
    give_back_what_the_dead_hold(tmp_path)
    (tmp_path / "go").touch()
    await office.runner().run_once()
    report = await office.report()
    assert (report.outcome, report.attempt) == (Outcome.COMPLETED, handle.attempt)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await alive.close()


async def test_the_doctor_sees_what_a_token_may_take(office, monkeypatch):
    from flowli_api.client.asynchronous import AsyncClient
    from flowli_runner.remote import look

    monkeypatch.setenv("FLOWLI_TOKEN", "x" * 20)
    monkeypatch.setattr(AsyncClient, "close", lambda self: asyncio.sleep(0))
    monkeypatch.setattr(look, "AsyncClient", lambda url, token: office.client)
    assert await look.look_at_service("agents", "http://flowli.test") is None
    refused = await look.look_at_service("finance", "http://flowli.test")
    assert refused is not None
    assert "tasks:consume:finance" in refused


async def test_a_service_that_is_named_wrongly_is_refused(tmp_path, monkeypatch):
    from flowli_runner.remote.run import work_remotely

    monkeypatch.setenv("FLOWLI_TOKEN", "x" * 20)
    with pytest.raises(Exception, match="http://"):
        await work_remotely(config_of(tmp_path, None), "ftp://host", once=True)
