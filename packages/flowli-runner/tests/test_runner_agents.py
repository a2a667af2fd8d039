"""Adapters: the command lines of real agents, what is read from their output, and a service in this process."""

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flowli.domain.errors import Retry, UsageError
from flowli.world import SYSTEM
from flowli_runner.agents import AgentSetup, Job
from flowli_runner.agents.finding import make_agents
from flowli_runner.contracts import AgentSettings, Claim, Cost, Envelope, Outcome
from flowli_runner.process.launch import Limits


@pytest.fixture
def job(tmp_path) -> Job:
    envelope = Envelope("add a test", agent=AgentSettings(model="m-1", options={"effort": "high; rm -rf /"}))
    return Job("a-1", tmp_path, tmp_path / "tree", envelope, "the prompt", {"PATH": "/bin"}, Limits())


def agent(kind: str, *argv: str, url: str = ""):
    return make_agents([AgentSetup("one", kind, argv, url=url)], SYSTEM)["one"]


def test_placeholders_are_one_argument_each_and_no_shell_reads_them(job):
    argv = agent("command", "tool", "--effort={option.effort}", "{prompt_file}", "{{x}}", "{model}").argv(job)
    assert argv == ["tool", "--effort=high; rm -rf /", str(job.folder / "prompt.md"), "{x}", "m-1"]


@pytest.mark.parametrize("argument", ["{prompt}", "{", "}", "{tree", "{}"])
def test_what_is_no_placeholder_is_refused_when_the_runner_starts(argument):
    with pytest.raises(UsageError, match="no placeholder"):
        agent("command", "tool", argument)


def test_an_option_that_the_envelope_does_not_give_is_named(job):
    with pytest.raises(UsageError, match=r"option\.speed"):
        agent("command", "tool", "{option.speed}").argv(job)


def test_an_unknown_kind_is_named_with_those_there_are():
    with pytest.raises(
        UsageError, match="'claude', which nothing provides; there are claude-code, codex, command, http"
    ):
        agent("claude", "x")


def test_the_command_line_of_claude_code(job):
    begin = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
    assert agent("claude-code").argv(job) == [*begin, "--permission-mode", "acceptEdits", "--model", "m-1"]
    plain = replace(job, envelope=Envelope("x"))
    assert agent("claude-code").argv(plain) == [*begin, "--permission-mode", "acceptEdits"]
    own = agent("claude-code", "/opt/claude", "--permission-mode", "plan", "--allowedTools", "Bash(pytest:*)")
    assert own.argv(plain) == [
        *("/opt/claude", *begin[1:]),
        *("--permission-mode", "plan", "--allowedTools", "Bash(pytest:*)"),
    ]


def test_the_command_line_of_codex(job):
    tree = str(job.tree)
    assert agent("codex").argv(job) == [
        *("codex", "exec", "--json", "--sandbox", "workspace-write", "--cd", tree, "--model", "m-1", "-")
    ]
    own = agent("codex", "--sandbox", "read-only").argv(replace(job, envelope=Envelope("x")))
    assert own == ["codex", "exec", "--json", "--cd", tree, "--sandbox", "read-only", "-"]


def test_the_prompt_never_stands_among_the_arguments(job):
    for one in (agent("claude-code"), agent("codex"), agent("command", "tool", "{prompt_file}")):
        assert not [argument for argument in one.argv(job) if "the prompt" in argument]


def lines(*found: object) -> bytes:
    return b"noise\n" + b"".join(json.dumps(one).encode() + b"\n" for one in found) + b'{"cut'


def test_what_claude_code_says_is_read(job):
    output = lines(
        {"type": "system", "subtype": "init", "session_id": "s-1"},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "It is done.",
            "session_id": "s-1",
            "total_cost_usd": 0.25,
            "usage": {"input_tokens": 10, "output_tokens": 20},
        },
    )
    said = agent("claude-code").said(job, output)
    assert (said.outcome, said.summary, said.session) == (None, "It is done.", "s-1")
    assert said.cost == Cost(tokens_in=10, tokens_out=20, usd=0.25)
    failed = agent("claude-code").said(job, lines({"type": "result", "subtype": "error_max_turns", "is_error": True}))
    assert failed.outcome is Outcome.FAILED


def test_what_codex_says_is_read(job):
    output = lines(
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 4}},
        {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 4}},
    )
    said = agent("codex").said(job, output)
    assert (said.summary, said.session, said.cost) == ("Done.", "t-1", Cost(tokens_in=6, tokens_out=8))
    failed = agent("codex").said(job, lines({"type": "turn.failed", "error": {"message": "no credit"}}))
    assert (failed.outcome, failed.summary) == (Outcome.FAILED, "no credit")


def test_a_report_file_says_more_than_the_output(job):
    report = {"outcome": "blocked", "summary": "no rights", "claims": ["a", {"text": "b"}, 3], "resume": "ask"}
    job.report_file.write_text(json.dumps({**report, "cost": {"tokens_in": 7, "usd": 0.5, "tokens_out": "many"}}))
    said = agent("claude-code").said(job, b"")
    assert (said.outcome, said.summary, said.resume) == (Outcome.BLOCKED, "no rights", "ask")
    assert said.claims == (Claim("a"), Claim("b"))
    assert said.cost == Cost(tokens_in=7, usd=0.5)


@pytest.mark.parametrize("body", ["", "[]", "{", '{"outcome": 3, "claims": 3, "summary": []}'])
def test_a_report_file_that_is_none_says_nothing(job, body):
    job.report_file.write_text(body)
    said = agent("command", "tool").said(job, b"")
    assert (said.outcome, said.summary, said.claims) == (None, "", ())


def test_a_program_that_is_not_installed_is_named():
    assert "'no-such-program'" in (agent("command", "no-such-program").problem() or "")
    assert agent("command", "git").problem() is None


@pytest.fixture
def service():
    """An agent behind HTTP; ``asked`` holds what it was asked."""
    asked: list[tuple[str, str, dict, str | None]] = []
    states = ["running", "completed"]

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            asked.append((self.command, self.path, body, self.headers.get("idempotency-key")))
            said: dict[str, object] = {"id": "job 7"}
            if self.command == "GET":
                state = states.pop(0) if len(states) > 1 else states[0]
                said = {"state": state, "summary": "fine", "output": "working"}
            elif self.path.endswith("/cancel"):
                states[:] = ["cancelled"]
            text = json.dumps(said).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            pass

    for method in ("do_GET", "do_POST"):
        setattr(Handler, method, Handler.answer)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/jobs", asked, states
        server.shutdown()


class Quick:
    """The real world, but for sleeping."""

    def __getattr__(self, name):
        return getattr(SYSTEM, name)

    async def sleep(self, seconds: float) -> None:
        await SYSTEM.sleep(0)


async def test_a_service_is_started_once_polled_and_found_again(service, job):
    url, asked, _ = service
    one = make_agents([AgentSetup("one", "http", url=url)], Quick())["one"]
    handles: list[object] = []

    async def record(handle) -> None:
        handles.append(handle)

    running = await one.start(job, record)
    end = await running.wait()
    assert (end.reason, end.exit_code, running.output()) == ("exited", 0, b"working")
    assert (one.said(job, b"").outcome, one.said(job, b"").summary) == (Outcome.COMPLETED, "fine")
    assert handles == [{"url": url, "id": ""}, {"url": url, "id": "job 7"}]
    assert asked[0][:2] == ("POST", "/jobs")
    assert asked[0][2]["prompt"] == "the prompt"
    assert asked[0][3] == "a-1"
    assert {path for _, path, _, _ in asked[1:]} == {"/jobs/job%207"}
    for handle in handles:  # also one whose runner died before the id was known: it is asked for again by its attempt
        again = one.attach(job, handle)
        assert again is not None
        assert (await again.wait()).exit_code == 0
    assert [key for method, path, _, key in asked if (method, path) == ("POST", "/jobs")] == ["a-1", "a-1"]
    assert one.attach(job, {"url": "http://elsewhere", "id": "job 7"}) is None


async def test_a_service_is_told_to_cancel(service, job):
    url, asked, states = service
    states[:] = ["running"]
    one = make_agents([AgentSetup("one", "http", url=url)], Quick())["one"]

    async def record(handle) -> None:
        pass

    running = await one.start(job, record)
    assert (await running.stop()).reason == "cancelled"
    assert ("POST", "/jobs/job%207/cancel", {}, None) in asked


async def test_a_service_that_is_away_gives_the_task_back(service, job):
    one = make_agents([AgentSetup("one", "http", url="http://127.0.0.1:1/jobs")], Quick())["one"]
    running = one.attach(job, {"url": "http://127.0.0.1:1/jobs", "id": "job 7"})
    assert running is not None
    with pytest.raises(Retry, match="cannot be reached"):
        await running.wait()


@pytest.mark.parametrize("url", ["", "ftp://x", "https://user:password@host/x"])
def test_an_address_that_is_none_or_holds_a_password_is_refused(url):
    with pytest.raises(UsageError, match="url"):
        agent("http", url=url)


def test_a_job_names_its_files(job):
    assert (job.prompt_file, job.report_file) == (Path(job.folder, "prompt.md"), Path(job.folder, "report.json"))
