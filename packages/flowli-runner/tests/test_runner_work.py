"""Pieces of work from the task to the answer, with the fake agent, on buckets in memory and on disk."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from flowli import CairnBackend, MemoryBackend
from flowli.domain.delegate import AnswerOutcome
from flowli.world import SYSTEM
from flowli_runner.contracts import Change, Outcome
from flowli_runner.git.tree import Trees
from flowli_runner.process.handle import is_alive
from flowli_runner.process.supervisor import marked
from flowli_runner.runner import Runner
from flowli_runner.work.records import record_eid

from .runner_kit import Bench, config_of, envelope, git, handle_of, make_repository, record_of, until


@pytest.fixture
def repository(tmp_path):
    return make_repository(tmp_path / "repo")


@pytest.fixture(params=["memory", "disk"])
def bench(request, tmp_path) -> Bench:
    if request.param == "memory":
        return Bench(MemoryBackend(SYSTEM).ports)
    return Bench(CairnBackend.configure({"storage": f"file:{tmp_path / 'bucket'}"}).ports)


async def test_work_is_done_checked_and_reported(bench, tmp_path, repository):
    report_text = json.dumps({"summary": "I wrote it.", "claims": ["src/new.py is there"], "resume": "nothing is left"})
    payload = envelope(
        "@say working",
        "@write src/new.py print(1)",
        f"@report {report_text}",
        checks=[{"name": "there", "argv": ["cat", "src/new.py"]}],
    )
    await bench.delegate(payload)
    assert await Runner(config_of(tmp_path, repository), bench.ports).run_once() == 1
    report = await bench.report()
    assert (report.outcome, report.summary) == (Outcome.COMPLETED, "I wrote it.")
    assert report.changes == (Change("A", "src/new.py"),)
    assert [(one.name, one.passed, one.exit_code) for one in report.checks] == [("there", True, 0)]
    assert report.resume.summary == "nothing is left"
    evidence = await bench.evidence(report)
    assert evidence["transcript-00001"] == b"working\n"
    assert evidence["check-1"] == b"print(1)\n"
    assert b"+print(1)" in evidence["diff"]
    assert git(repository, "show", f"{report.branch}:src/new.py") == "print(1)"
    assert git(repository, "rev-parse", report.branch) == report.head
    assert git(repository, "show", f"{report.resume.ref}:src/new.py") == "print(1)"
    assert git(repository, "rev-parse", "main") == report.base


async def test_nothing_is_left_behind(bench, tmp_path, repository):
    task_id = await bench.delegate(envelope("@write src/x 1", "@fork"))
    runner = Runner(config_of(tmp_path, repository), bench.ports)
    await runner.run_once()
    report = await bench.report()
    assert await bench.tasks() == 0
    assert marked(report.attempt) == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert list((tmp_path / "work" / "attempts").iterdir()) == []
    assert await bench.ports.ownership.read(record_eid(task_id)) is None


async def test_a_change_outside_the_scopes_is_never_completed(bench, tmp_path, repository):
    await bench.delegate(envelope("@write src/x 1", "@write README more", "@git add README", "@git commit -m x"))
    await Runner(config_of(tmp_path, repository), bench.ports).run_once()
    report = await bench.report()
    assert (report.outcome, report.outside) == (Outcome.PARTIAL, ("README",))


async def test_a_failed_check_is_told_whatever_the_agent_says(bench, tmp_path, repository):
    payload = envelope('@report {"outcome": "completed"}', checks=[{"name": "no", "argv": ["false"]}])
    await bench.delegate(payload)
    await Runner(config_of(tmp_path, repository), bench.ports).run_once()
    report = await bench.report()
    assert (report.outcome, report.checks[0].passed) == (Outcome.PARTIAL, False)


@pytest.mark.parametrize(
    ("deed", "outcome", "said"),
    [
        ("@exit 3", Outcome.FAILED, "exit code 3"),
        ("@crash", Outcome.FAILED, "signal 9"),
        ('@report {"outcome": "blocked", "summary": "no rights"}', Outcome.BLOCKED, "no rights"),
        ('@report {"outcome": "partial"}', Outcome.PARTIAL, ""),
    ],
)
async def test_how_it_ended_is_told_and_the_work_is_kept(tmp_path, repository, deed, outcome, said):
    bench = Bench(MemoryBackend(SYSTEM).ports)
    await bench.delegate(envelope("@write src/half 1", deed))
    await Runner(config_of(tmp_path, repository), bench.ports).run_once()
    report = await bench.report()
    assert report.outcome is outcome
    assert said in report.summary
    assert git(repository, "show", f"{report.resume.ref}:src/half") == "1"


async def test_a_deadline_of_the_envelope_interrupts_the_work(tmp_path, repository, monkeypatch):
    """Whatever the agent has come to by then: the half of the work stands in its tree before it begins."""
    add = Trees.add

    async def half_done(self, *args):
        tree = await add(self, *args)
        (tree.folder / "src/half").write_text("1")
        return tree

    monkeypatch.setattr(Trees, "add", half_done)
    bench = Bench(MemoryBackend(SYSTEM).ports)
    await bench.delegate(envelope("@deaf", "@hang", agent={"timeout_s": 0.2}))
    await Runner(config_of(tmp_path, repository), bench.ports).run_once()
    report = await bench.report()
    assert (report.outcome, report.changes) == (Outcome.INTERRUPTED, (Change("A", "src/half"),))


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"intend": "x"}, "envelope.intend"),
        ({"intent": "x", "agent": {"name": "nobody"}}, "no agent 'nobody'; it has fake"),
        ({"intent": "x", "base_ref": "--upload-pack=touch canary"}, "base_ref"),
        ({"intent": "x", "write_scopes": ["--output=x"]}, "write_scopes[0]"),
    ],
)
async def test_what_cannot_be_done_is_answered_as_a_failure(tmp_path, repository, payload, said):
    """K48: names from outside."""
    bench = Bench(MemoryBackend(SYSTEM).ports)
    await bench.delegate(payload)
    await Runner(config_of(tmp_path, repository), bench.ports).run_once()
    (answer,) = await bench.answers()
    assert answer.outcome is AnswerOutcome.FAILED
    assert answer.error is not None
    assert said in answer.error.message
    assert not list(tmp_path.rglob("canary"))


async def test_without_a_repository_a_program_works_in_a_folder(tmp_path):
    bench = Bench(MemoryBackend(SYSTEM).ports)
    await bench.delegate({"intent": "@write out.txt 1\n@say done"})
    await Runner(config_of(tmp_path, None), bench.ports).run_once()
    report = await bench.report()
    assert report.outcome is Outcome.COMPLETED
    assert [path.read_text() for path in tmp_path.rglob("out.txt")] == ["1\n"]


async def test_attachments_are_kept_with_their_media_types(tmp_path, repository):
    bench = Bench(MemoryBackend(SYSTEM).ports)
    work = tmp_path / "work"
    script = "import os,pathlib;pathlib.Path(os.environ['FLOWLI_ATTACHMENTS'],'shot one.png').write_bytes(b'png')"
    config = config_of(tmp_path, repository)
    config = replace(config, agents={"fake": replace(config.agents["fake"], argv=("python3", "-c", script))})
    await bench.delegate(envelope())
    await Runner(config, bench.ports).run_once()
    report = await bench.report()
    (found,) = [one for one in report.evidence if "attachment" in one.name]
    assert (found.media_type, found.name.rpartition("/")[2]) == ("image/png", "attachment-shot-one.png")
    assert work.is_dir()


async def test_a_drained_runner_leaves_its_agent_to_the_next_one(tmp_path, repository):
    bench = Bench(MemoryBackend(SYSTEM).ports)
    task_id = await bench.delegate(envelope("@write src/x 1", f"@wait {tmp_path / 'go'}", "@write src/y 2"))
    config = config_of(tmp_path, repository, drain_s=0.0)
    first = Runner(config, bench.ports)
    running = asyncio.ensure_future(first.run())
    handle = await handle_of(bench, task_id)
    await until((tmp_path / "work/trees" / handle.attempt / "src/x").exists)
    await first.drain()
    await running
    assert is_alive(SYSTEM, handle)
    assert await bench.answers() == []
    (tmp_path / "go").touch()
    await Runner(config, bench.ports).run_once()
    report = await bench.report()
    assert (report.outcome, report.attempt) == (Outcome.COMPLETED, handle.attempt)
    assert {one.path for one in report.changes} == {"src/x", "src/y"}


async def test_work_whose_answer_was_lost_is_not_done_again(tmp_path, repository):
    """The report stands in the record: the agent is not started a second time."""
    bench = Bench(MemoryBackend(SYSTEM).ports)
    await bench.delegate(envelope(f"@write {tmp_path / 'runs'} 1"))
    config = config_of(tmp_path, repository)

    class Lost:
        """A channel whose first send fails."""

        failed = False

        def __getattr__(self, name):
            return getattr(bench.ports.channel, name)

        async def send(self, message):
            from flowli.domain.errors import BackendUnavailable

            if not self.failed:
                self.failed = True
                raise BackendUnavailable("no answer")
            return await bench.ports.channel.send(message)

    class Soon:
        """A queue that gives tasks back at once."""

        def __getattr__(self, name):
            return getattr(bench.ports.queue, name)

        async def nack(self, lease, *, delay_s=0.0, alive=True):
            await bench.ports.queue.nack(lease, delay_s=0.0, alive=alive)

    runner = Runner(config, replace(bench.ports, channel=Lost(), queue=Soon()))
    await runner.run_once()
    assert await bench.answers() == []
    await runner.run_once()
    assert (await bench.report()).outcome is Outcome.COMPLETED
    assert (tmp_path / "runs").read_text() == "1\n"
    assert await bench.tasks() == 0


async def test_a_runner_that_lost_its_task_stops_its_agent_at_once_and_answers_nothing(tmp_path, repository):
    """K27: the task is somebody else's now."""
    from flowli.domain.errors import LeaseLost

    bench = Bench(MemoryBackend(SYSTEM).ports)
    task_id = await bench.delegate(envelope("@write src/x 1", "@hang"))

    class Taken:
        def __getattr__(self, name):
            return getattr(bench.ports.queue, name)

        async def renew(self, lease, *, alive=False):
            if not (await record_of(bench, task_id)).get("handle"):
                return await bench.ports.queue.renew(lease, alive=alive)
            raise LeaseLost("taken over")

    config = config_of(tmp_path, repository, ttl_s=3.0)
    running = asyncio.ensure_future(Runner(config, replace(bench.ports, queue=Taken())).run_once())
    handle = await handle_of(bench, task_id)
    await running
    await until(lambda: not is_alive(SYSTEM, handle))  # it has written its result, and is about to end
    assert marked(handle.attempt) == []
    assert await bench.answers() == []


async def test_work_that_nobody_waits_for_any_more_is_ended(tmp_path, repository, monkeypatch):
    monkeypatch.setattr("flowli_runner.work.handler._LOOKS_PER_WATCH", 1)
    bench = Bench(MemoryBackend(SYSTEM).ports)
    task_id = await bench.delegate(envelope("@write src/x 1", "@hang"))
    running = asyncio.ensure_future(Runner(config_of(tmp_path, repository), bench.ports).run_once())
    handle = await handle_of(bench, task_id)
    await until((tmp_path / "work/trees" / handle.attempt / "src/x").exists)
    await bench.ports.channel.unmark(f"{bench.eid}.reply1", bench.eid, up_to_epoch=9)
    await running
    report = await bench.report()
    assert (report.outcome, report.changes) == (Outcome.INTERRUPTED, (Change("A", "src/x"),))


async def test_two_attempts_never_write_to_the_same_scopes_at_once(tmp_path, repository):
    """K47."""
    bench = Bench(MemoryBackend(SYSTEM).ports)
    config = config_of(tmp_path, repository)
    first_id = await bench.delegate(envelope(f"@wait {tmp_path / 'go'}"))
    first = asyncio.ensure_future(Runner(config, bench.ports).run_once())
    await handle_of(bench, first_id)
    second_id = await bench.delegate(envelope("@say second", write_scopes=["src/app.py"]))
    await Runner(config, bench.ports).run_once()
    assert await bench.answers() == []
    assert (await record_of(bench, second_id)) == {}
    (tmp_path / "go").touch()
    await first
    assert await bench.tasks() == 1


async def test_secrets_appear_nowhere(tmp_path, repository, monkeypatch, capfd):
    """K49: environment, output, files, claims, errors; and what the agent was not given it does not find."""
    canary, shaped = "canary-4711-secret", "ghp_" + "a1B2" * 9
    monkeypatch.setenv("MY_TOKEN", canary)
    monkeypatch.setenv("OTHER_CANARY", "not-given-4712")
    bench = Bench(CairnBackend.configure({"storage": f"file:{tmp_path / 'bucket'}"}).ports)
    config = config_of(tmp_path, repository)
    config = replace(config, agents={"fake": replace(config.agents["fake"], pass_env=("MY_TOKEN",))})
    task = envelope(checks=[{"name": "leak", "argv": ["cat", "src/x"]}])
    script = tmp_path / "agent.py"
    script.write_text(
        "import os, json\nt = os.environ['MY_TOKEN']\nprint(dict(os.environ))\nprint('ghp_' + 'a1B2' * 9)\n"
        "open('src/x', 'w').write(t)\n"
        "open(os.environ['FLOWLI_REPORT_FILE'], 'w').write(json.dumps({'summary': t, 'claims': [t], 'resume': t}))\n"
    )
    config = replace(config, agents={"fake": replace(config.agents["fake"], argv=("python3", str(script)))})
    await bench.delegate({**task, "intent": "leak"})
    await Runner(config, bench.ports).run_once()
    report = await bench.report()
    assert report.summary == "[masked]"
    evidence = await bench.evidence(report)
    assert b"[masked]" in evidence["transcript-00001"]
    assert b"[masked]" in evidence["check-1"]
    assert b"+[masked]" in evidence["diff"]
    places = [*(tmp_path / "bucket").rglob("*"), *(tmp_path / "work").rglob("*"), repository / ".git/config"]
    bodies = b"".join(path.read_bytes() for path in places if path.is_file())
    told = capfd.readouterr()
    for secret in (canary, shaped, "not-given-4712"):
        assert secret.encode() not in bodies
        assert secret not in told.out + told.err


async def test_an_error_that_holds_a_secret_is_masked(tmp_path, repository, monkeypatch):
    """K49."""
    monkeypatch.setenv("MY_TOKEN", "canary-4711-secret")
    bench = Bench(MemoryBackend(SYSTEM).ports)
    config = config_of(tmp_path, repository)
    table = replace(config.agents["fake"], argv=("tool", "{option.x}"), pass_env=("MY_TOKEN",))
    await bench.delegate({"intent": "x", "base_ref": "canary-4711-secret"})
    await Runner(replace(config, agents={"fake": table}), bench.ports).run_once()
    (answer,) = await bench.answers()
    assert answer.error is not None
    assert "canary" not in answer.error.message + answer.error.traceback
    assert "[masked]" in answer.error.message
