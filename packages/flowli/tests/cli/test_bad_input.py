"""Bad input: one clear sentence, the right exit code, nothing stored."""

import json
import os
import stat
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EID = "0197a1b2-0000-7000-8000-000000000000"


@pytest.fixture
def bucket(tmp_path, monkeypatch) -> Path:
    """An application and the URL of a bucket that does not exist yet."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.syspath_prepend(str(HERE))
    folder = tmp_path / "bucket"
    monkeypatch.setenv("FLOWLI_STORAGE", f"file:{folder}")
    monkeypatch.setenv("FLOWLI_APP", "shop:registry")
    return folder


@pytest.fixture
def shop(environment, bucket):
    """Both, with an environment that holds nothing else."""
    os.environ["FLOWLI_STORAGE"], os.environ["FLOWLI_APP"] = f"file:{bucket}", "shop:registry"
    return bucket


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
def test_a_start_with_bad_input_stores_nothing(invoke, shop, arguments, sentence):
    done = invoke(*arguments)
    assert sentence in " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert done.stdout == ""
    assert stored(shop) == []


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
def test_an_id_that_leads_nowhere_is_told_and_nothing_is_stored(invoke, shop, arguments, code, sentence):
    shop.mkdir()
    done = invoke(*arguments)
    assert sentence in " ".join(done.stderr.split())
    assert done.exit_code == code
    assert done.stdout == ""
    assert stored(shop) == []


APPS = [
    ("shop", "has not the form module:attr"),
    ("shop:", "has not the form module:attr"),
    ("there_is_no_shop:registry", "there is no module 'there_is_no_shop'"),
    ("shop:registri", "shop has no 'registri'; did you mean 'registry'?"),
    ("shop:number", "is a int; name a Registry, an Engine, or a callable"),
    ("shop:needs", "needs arguments; name a callable that takes none"),
    ("shop:Order", "needs arguments"),
]


@pytest.mark.parametrize(("target", "sentence"), APPS)
def test_an_application_that_is_none_is_told(invoke, shop, target, sentence):
    done = invoke("start", "echo", "--arg", "text=a", "--app", target)
    assert sentence in done.stderr
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert stored(shop) == []


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
    invoke, shop, tmp_path, source, line, monkeypatch
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
def test_a_command_that_needs_an_application_says_how_to_name_one(invoke, shop, monkeypatch, command):
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
        ("flie:./bucket", 2, "did you mean 'file'?"),
        ("bucket", 2, ""),
        ("file:", 2, ""),
        ("file:/proc/nowhere/bucket", 3, "/proc/nowhere"),
    ],
)
def test_a_storage_that_cannot_be_is_told(invoke, shop, url, code, sentence):
    done = invoke("list", "--storage", url)
    assert sentence in done.stderr
    assert done.exit_code == code, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_bucket_is_told(invoke, shop):
    shop.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    done = invoke("start", "echo", "--arg", "text=a")
    assert done.exit_code == 3


def test_errors_come_as_json_where_a_script_asks(invoke, shop):
    done = invoke("--json", "start", "ehco")
    assert json.loads(done.stderr)["error"] == {
        "kind": "UnknownWorkflow",
        "message": "no workflow 'ehco' is registered: did you mean 'echo'?",
        "exit_code": 2,
    }
