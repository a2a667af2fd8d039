"""Bad input: one clear sentence, the right exit code, nothing stored."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from flowli.cairn.database import Cairn
from flowli.cairn.layout import LAYOUT_KEY
from flowli.stores import open_store
from flowli.world import SYSTEM

EID = "0197a1b2-0000-7000-8000-000000000000"


def stored(folder: Path) -> list[str]:
    """Everything in the bucket but its layout."""
    files = [str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()] if folder.exists() else []
    return [one for one in files if "exec" in one or "queues" in one or "logs" in one or "dispatch" in one]


START = [
    (["start", "ehco", "--arg", "text=a"], "no workflow 'ehco' is registered: did you mean 'echo'?"),
    (
        ["start", "echo", "--version", "7", "--arg", "text=a"],
        "workflow 'echo' has no version '7' here; known are '1', '2'",
    ),
    (["start", "echo"], "echo_again needs its parameter 'text'"),
    (["start", "echo", "--arg", "txt=a"], "has no parameter 'txt'; did you mean 'text'?"),
    (["start", "echo", "--json", '["a", 1, 2]'], "takes 2 arguments by place but got 3"),
    (["start", "echo", "--arg", "text=a", "--arg", "times=many"], "args.times"),
    (["start", "purchase", "--json", '{"order": {"id": "A", "cents": NaN}}'], "args.order.cents"),
    (["start", "purchase", "--json", '{"order": {"id": "A", "cents": 99999999999999999999}}'], "args.order.cents"),
    (["start", "purchase", "--json", '{"order": {"id": "A"}}'], "args.order.cents: the field 'cents' is missing"),
    (["start", "purchase", "--json", '{"order": {"id": "A", "cents": "many"}}'], "args.order.cents: a str"),
    (["start", "echo", "--arg", "text=a", "--key", "../x"], "cannot be used"),
    (["start", "echo", "--arg", "text=a", "--queue", "a/b"], "queue 'a/b' is not a name"),
    (["start", "echo", "--json", "{text: a}"], "--json is not JSON"),
    (["start", "echo", "--json", "{}", "--arg", "text=a"], "use one of them"),
    (["start", "echo", "--arg", "text"], "not of the form key=value"),
    (["start", "echo", "--json", "7"], "write an object with the arguments by name"),
    (["start", "echo", "--arg", "text=a", "--wait", "soon"], "'soon' is not a duration"),
    (["start", "echo", "--arg", "text=a", "--timeout", "0"], "must be positive"),
]


@pytest.mark.parametrize(("arguments", "sentence"), START)
def test_a_start_with_bad_input_stores_nothing(invoke, bucket, arguments, sentence):
    done = invoke(*arguments)
    assert sentence in " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert done.stdout == ""
    assert stored(bucket) == []


IDS = [
    (["status", "hello"], 2, "'hello' is not an execution id"),
    (["status", "../../etc/passwd"], 2, "is not an execution id"),
    (["status", "0197A1B2-0000-7000-8000-00000000000z"], 2, "is not an execution id"),
    (["status", EID], 1, f"no execution {EID} exists in this bucket"),
    (["show", EID], 1, f"no execution {EID} exists"),
    (["journal", EID], 1, f"no execution {EID} exists"),
    (["signal", EID, "news"], 1, f"no execution {EID} exists"),
    (["cancel", EID], 1, f"no execution {EID} exists"),
    (["terminate", EID], 1, f"no execution {EID} exists"),
    (["pause", EID], 1, f"no execution {EID} exists"),
    (["resume", EID], 1, f"no execution {EID} exists"),
    (["migrate", EID, "--version", "2"], 1, f"no execution {EID} exists"),
    (["signal", EID, "a.b"], 2, "channel 'a.b' is not a name"),
    (["signal", EID, "../x"], 2, "channel '../x' is not a name"),
    (["signal", EID, "news", "--json", "{"], 2, "--json is not JSON"),
    (["status", "0197"], 1, "no execution begins with '0197'"),
]


@pytest.mark.parametrize(("arguments", "code", "sentence"), IDS)
def test_an_id_that_leads_nowhere_is_told_and_nothing_is_stored(invoke, bucket, arguments, code, sentence):
    bucket.mkdir()
    done = invoke(*arguments)
    assert sentence in " ".join(done.stderr.split())
    assert done.exit_code == code
    assert done.stdout == ""
    assert stored(bucket) == []


APPS = [
    ("shop", "has not the form module:attr"),
    ("shop:", "has not the form module:attr"),
    ("there_is_no_shop:registry", "there is no module 'there_is_no_shop'"),
    ("shop:registri", "shop has no 'registri'; did you mean 'registry'"),
    ("shop:number", "is a int; name a Registry, an Engine, or a callable"),
    ("shop:needs", "needs arguments; name a callable that takes none"),
    ("shop:Order", "needs arguments"),
]


@pytest.mark.parametrize(("target", "sentence"), APPS)
def test_an_application_that_is_none_is_told(invoke, bucket, target, sentence):
    done = invoke("start", "echo", "--arg", "text=a", "--app", target)
    assert sentence in done.stderr
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert stored(bucket) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import there_is_no_sdk\n", "ModuleNotFoundError: No module named 'there_is_no_sdk'"),
        ("def f(:\n", "SyntaxError"),
        ("x = {}\nx['gone']\n", "KeyError: 'gone'"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    ],
)
def test_an_application_that_does_not_import_is_shown_with_its_own_traceback(
    invoke, bucket, tmp_path, source, line, monkeypatch
):
    name = f"broken_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    done = invoke("worker", "--app", f"{name}:registry")
    assert done.exit_code == 2
    assert line in done.stderr
    assert "flowli/cli" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"flowli: --app {name}:registry does not import (")


@pytest.mark.parametrize("command", ["worker", "dev", "start echo"])
def test_a_command_that_needs_an_application_says_how_to_name_one(invoke, bucket, monkeypatch, command):
    monkeypatch.delenv("FLOWLI_APP")
    done = invoke(*command.split())
    assert done.exit_code == 2
    assert "needs an application; give --app module:attr or set FLOWLI_APP" in done.stderr


def test_a_command_that_needs_a_bucket_says_how_to_name_one(invoke, environment):
    done = invoke("list")
    assert done.exit_code == 2
    assert "no storage is named; give --storage URL (for example file:./bucket) or set FLOWLI_STORAGE" in done.stderr


@pytest.mark.parametrize(
    ("url", "code", "sentence"),
    [
        ("flie:./bucket", 2, "did you mean 'file'"),
        ("bucket", 2, ""),
        ("file:", 2, ""),
        ("file:/no/such/parent/bucket", 3, "/no/such/parent/bucket"),
        (f"file:{Path(__file__)}", 2, "is not a folder"),
    ],
)
def test_a_storage_that_cannot_be_is_told(invoke, bucket, url, code, sentence):
    done = invoke("list", "--storage", url)
    assert sentence in done.stderr
    assert done.exit_code == code, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "command", [["list"], ["status", EID], ["signal", EID, "news"], ["retention", "--older-than", "1d"]]
)
def test_a_bucket_that_is_missing_is_told_and_not_made(invoke, bucket, command):
    done = invoke(*command)
    assert done.exit_code == 3
    assert str(bucket) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not bucket.exists()


@pytest.mark.parametrize("url", ["file:/sys/flowli-bucket", "file:/proc/self/flowli-bucket"])
@pytest.mark.parametrize("command", [["start", "echo", "--arg", "text=a"], ["worker"], ["sweeper", "--once"]])
def test_a_bucket_that_cannot_be_written_is_told(invoke, bucket, url, command):
    done = invoke(*command, "--storage", url)
    assert done.exit_code == 3
    assert "flowli-bucket" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["start", "echo", "--arg", "text=a"], ["list"], ["worker"], ["status", EID]])
def test_a_bucket_of_a_newer_layout_is_refused_naming_both_versions(invoke, bucket, command):
    async def newer() -> None:
        cairn = Cairn(open_store(os.environ["FLOWLI_STORAGE"]), SYSTEM)
        await cairn.documents.create(LAYOUT_KEY, {"layout": 99, "formats": {}})
        await cairn.close()

    asyncio.run(newer())
    done = invoke(*command)
    assert done.exit_code == 3
    assert "The bucket has layout version 99 and this release of flowli knows versions up to 1." in done.stderr
    assert stored(bucket) == []


def test_errors_come_as_json_where_a_script_asks(invoke, bucket):
    done = invoke("--json", "start", "ehco")
    assert json.loads(done.stderr)["error"] == {
        "kind": "UnknownWorkflow",
        "message": "no workflow 'ehco' is registered: did you mean 'echo'?",
        "exit_code": 2,
    }
