"""``flowli lint``: what it finds, what it lets pass, how it reports."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from flowli.cli.main import flowli
from flowli.domain.errors import UsageError
from flowli.runtime.lint import CODES, lint_module, lint_source

HEAD = """\
import asyncio, os, random, secrets, socket, subprocess, threading, time, uuid
import datetime as dt
from datetime import datetime
from time import time as now
from flowli import Context, Registry

registry = Registry()
SEEN = []
TABLE = {}

async def charge(n: int) -> int:
    return n

"""


def found(*body: str, parameters: str = "ctx: Context") -> list[str]:
    """The codes found in a workflow of these lines."""
    source = HEAD + f"@registry.workflow\nasync def order({parameters}) -> int:\n"
    source += textwrap.indent("\n".join(body), "    ") + "\n"
    return [one.code for one in lint_source(source)]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("FL001", "time.time()"),
        ("FL001", "now()"),
        ("FL001", "time.perf_counter_ns()"),
        ("FL001", "time.localtime()"),
        ("FL001", "time.strftime('%Y')"),
        ("FL001", "datetime.now()"),
        ("FL001", "dt.datetime.now(dt.UTC)"),
        ("FL001", "dt.date.today()"),
        ("FL002", "random.random()"),
        ("FL002", "random.choice([1, 2])"),
        ("FL002", "random.Random()"),
        ("FL002", "random.SystemRandom()"),
        ("FL003", "uuid.uuid4()"),
        ("FL004", "os.urandom(8)"),
        ("FL004", "secrets.token_hex()"),
        ("FL005", "time.sleep(1)"),
        ("FL006", "open('file')"),
        ("FL006", "with open('file') as file: pass"),
        ("FL006", "input()"),
        ("FL006", "os.listdir('.')"),
        ("FL006", "os.path.exists('.')"),
        ("FL006", "subprocess.run(['true'])"),
        ("FL006", "socket.create_connection(('host', 1))"),
        ("FL006", "path.read_text()"),
        ("FL006", "import requests; requests.get('url')"),
        ("FL006", "import httpx\nasync with httpx.AsyncClient() as client: pass"),
        ("FL007", "threading.Thread(target=print)"),
        ("FL007", "await asyncio.to_thread(print)"),
        ("FL007", "await asyncio.create_subprocess_exec('true')"),
        ("FL007", "await asyncio.get_running_loop().run_in_executor(None, print)"),
        ("FL008", "for one in asyncio.as_completed([charge(1), charge(2)]): await one"),
        ("FL008", "for one in asyncio.as_completed(ctx.step(charge, n) for n in range(3)): await one"),
        ("FL009", "await asyncio.wait_for(ctx.receive('paid'), 5)"),
        ("FL010", "ctx.step(charge, 1)"),
        ("FL010", "ctx.sleep(5)"),
        ("FL010", "later = ctx.step(charge, 1)"),
        ("FL011", "global SEEN"),
        ("FL011", "SEEN.append(1)"),
        ("FL011", "TABLE['key'] = 1"),
        ("FL011", "TABLE['key'] += 1"),
        ("FL011", "del TABLE['key']"),
        ("FL012", "os.environ['HOME']"),
        ("FL012", "os.environ.get('HOME')"),
        ("FL012", "os.getpid()"),
        ("FL013", "for n in {1, 2}: pass"),
        ("FL013", "for n in set([1, 2]): pass"),
        ("FL013", "numbers = {1, 2} | {3}\nfor n in numbers: pass"),
        ("FL013", "[n for n in frozenset('ab')]"),
        ("FL013", "list({1, 2})"),
        ("FL013", "await asyncio.gather(*{1, 2})"),
        ("FL013", "numbers = {1, 2}\nnumbers.pop()"),
        ("FL014", "hash('text')"),
        ("FL014", "id(ctx)"),
        ("FL014", "asyncio.all_tasks()"),
        ("FL015", "asyncio.Future()"),
    ],
)
def test_it_finds(code: str, line: str) -> None:
    """RPL-12."""
    assert found(line) == [code]


def test_every_code_has_an_example_here_and_a_meaning() -> None:
    marks = [mark for mark in getattr(test_it_finds, "pytestmark", ()) if mark.name == "parametrize"]
    examples = {code for code, _ in marks[0].args[1]}
    assert examples | {"FL000"} == set(CODES)
    assert all(CODES.values())


@pytest.mark.parametrize(
    "line",
    [
        "await ctx.step(charge, 1)",
        "first = ctx.step(charge, 1)\nawait first",
        "await asyncio.gather(ctx.step(charge, 1), ctx.sleep(2))",
        "async with asyncio.TaskGroup() as group: group.create_task(ctx.step(charge, 1))",
        "await asyncio.sleep(1)",
        "async with asyncio.timeout(5): await ctx.receive('paid')",
        "for one in asyncio.as_completed([asyncio.create_task(charge(1))]): await one",
        "for one in await ctx.as_completed(ctx.step(charge, 1)): pass",
        "ctx.now, ctx.random.random(), ctx.uuid()",
        "random.Random(7).random()",
        "uuid.uuid5(uuid.NAMESPACE_DNS, 'x')",
        "time.gmtime(0), time.strftime('%Y', time.gmtime(0))",
        "datetime.fromisoformat('2026-01-01'), dt.timedelta(days=1)",
        "print('said')",
        "for n in sorted({1, 2}): pass",
        "1 in {1, 2}, len({1, 2})",
        "done, pending = await asyncio.wait([])\nfor one in done: pass",
        "mine = []\nmine.append(1)",
        "TABLE = {}\nTABLE['key'] = 1",
        "SEEN[0], TABLE.get('key')",
        "os.path.join('a', 'b')",
        "import urllib.parse; urllib.parse.quote('x')",
        "await ctx.step(lambda: time.time(), name='clock')",
        "def clock() -> float:\n    return time.time()\nawait ctx.step(clock)",
        "time.time()  # noqa: FL001",
        "time.time()  # noqa: E501, FL001",
    ],
)
def test_it_lets_pass(line: str) -> None:
    assert found(line) == []


def test_a_set_as_parameter_is_a_set() -> None:
    assert found("for one in items: pass", parameters="ctx: Context, items: set[str]") == ["FL013"]
    assert found("for one in items: pass", parameters="ctx: Context, items: list[str]") == []


def test_an_ignored_line_is_passed_over_for_the_codes_it_names_only() -> None:
    assert found("time.time(), random.random()  # noqa: FL002") == ["FL001"]


def lint(source: str) -> list[tuple[str, str]]:
    return [(one.code, one.function) for one in lint_source(textwrap.dedent(source))]


def test_workflows_are_known_by_decorator_registration_and_context() -> None:
    assert lint("""
        import time
        from flowli import Context
        import flowli

        @app.registry.workflow(name="one", version="2")
        async def decorated(c): time.time()

        async def added(c): time.time()
        registry.add(added, name="two")

        async def annotated(c: Context): time.time()
        async def in_full(c: flowli.Context): time.time()
        async def in_text(c: "Context"): time.time()

        class Flows:
            async def method(self, ctx: Context): time.time()

        async def a_step(n: int): time.time()
        def plain(): time.time()
        async def other(ctx: click.Context): time.time()
        """) == [
        ("FL001", "decorated"),
        ("FL001", "added"),
        ("FL001", "annotated"),
        ("FL001", "in_full"),
        ("FL001", "in_text"),
        ("FL001", "method"),
    ]


def test_helpers_that_a_workflow_calls_are_looked_at_and_steps_are_not() -> None:
    assert lint("""
        import time
        from flowli import Context

        def far(): return time.time()
        def near(): return far()
        def step(): return time.time()
        def unused(): return time.time()

        async def order(ctx: Context):
            near()
            await ctx.step(step)
        """) == [("FL001", "far")]


def test_what_cannot_be_read_is_a_finding() -> None:
    (one,) = lint_source("def broken(:\n", "app.py")
    assert str(one).startswith("app.py:1:12: FL000 cannot be read as Python")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("raise RuntimeError('it must not be imported')\n")
    (tmp_path / "shop" / "orders.py").write_text(HEAD + "async def order(ctx: Context):\n    time.time()\n")
    (tmp_path / "shop" / "good.py").write_text(HEAD + "async def order(ctx: Context):\n    await ctx.sleep(1)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("target", ["shop", "shop.orders", "shop/orders.py", "shop/", "."])
def test_a_target_is_a_module_a_package_a_file_or_a_folder_and_is_never_imported(project: Path, target: str) -> None:
    """RPL-12."""
    (one,) = lint_module(target)
    assert (one.path, one.line, one.column, one.code) == ("shop/orders.py", 15, 5, "FL001")


@pytest.mark.parametrize("target", ["shop.nothing", "nothing", "no/such/file.py", "sys", "a b"])
def test_an_unknown_target_is_an_error_that_names_it(project: Path, target: str) -> None:
    with pytest.raises(UsageError, match="there is no module, file or folder"):
        lint_module(target)


def test_the_command_reports_like_ruff_and_exits_with_1(project: Path) -> None:
    done = CliRunner().invoke(flowli, ["lint", "shop", "shop.orders"])
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "shop/orders.py:15:5: FL001 time.time() in a workflow; use ctx.now, which is the same on every replay",
        "Found 1 problem.",
    ]
    good = CliRunner().invoke(flowli, ["lint", "shop.good"])
    assert (good.exit_code, good.stdout) == (0, "Nothing found.\n")


def test_the_command_answers_in_json(project: Path) -> None:
    done = CliRunner().invoke(flowli, ["lint", "shop", "--json"])
    assert done.exit_code == 1
    (one,) = json.loads(done.stdout)
    assert one["path"] == "shop/orders.py"
    assert (one["line"], one["column"], one["code"], one["function"]) == (15, 5, "FL001", "order")
    assert json.loads(CliRunner().invoke(flowli, ["lint", "shop.good", "--json"]).stdout) == []


def test_an_unknown_target_of_the_command_is_wrong_usage(project: Path) -> None:
    done = CliRunner().invoke(flowli, ["lint", "nothing"])
    assert done.exit_code == 2
    assert done.stderr.startswith("flowli: there is no module, file or folder 'nothing'")
