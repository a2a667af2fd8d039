"""Exit codes: every error of flowli has one, and it is documented."""

import inspect
import json
import re
from pathlib import Path
from uuid import UUID

import pytest

from flowli.cairn import errors as cairn
from flowli.cli.exits import MEANING, CommandFailed, ExitCode, translate
from flowli.domain import errors
from flowli.plugins import PluginError, UnknownStore

DOCS = Path(__file__).parents[4] / "docs" / "reference"
EID = UUID(int=7)
INFO = errors.ErrorInfo("builtins.ValueError", "boom")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UnknownExecution(EID), ExitCode.REFUSED),
        (errors.NotAllowed("x"), ExitCode.REFUSED),
        (errors.DispatchConflict("x"), ExitCode.REFUSED),
        (errors.ExecutionFailed(EID, INFO), ExitCode.REFUSED),
        (errors.ExecutionCancelled(EID, ""), ExitCode.REFUSED),
        (errors.ResultTimeout("x"), ExitCode.TIMEOUT),
        (errors.UnknownWorkflow("x"), ExitCode.USAGE),
        (errors.BadArguments("x"), ExitCode.USAGE),
        (errors.InvalidValue("args.a", "x"), ExitCode.USAGE),
        (errors.InvalidName("x"), ExitCode.USAGE),
        (PluginError("x"), ExitCode.USAGE),
        (UnknownStore("x"), ExitCode.USAGE),
        (cairn.StoreConfigError("x"), ExitCode.USAGE),
        (cairn.StoreMissing("x"), ExitCode.STORAGE),
        (cairn.LayoutTooNew(9, 1), ExitCode.STORAGE),
        (errors.BackendRefused("x"), ExitCode.STORAGE),
        (errors.BackendUnavailable("x"), ExitCode.STORAGE),
        (ExceptionGroup("g", [errors.BackendRefused("x")]), ExitCode.STORAGE),
    ],
)
def test_an_error_has_its_exit_code(error, code):
    failed = translate(error)
    assert failed is not None
    assert failed.exit_code == code


def test_no_error_of_flowli_is_taken_for_a_fault():
    for module, root in ((errors, errors.FlowliError), (cairn, cairn.CairnError)):
        kinds = [one for _, one in inspect.getmembers(module, inspect.isclass) if issubclass(one, root)]
        assert len(kinds) > 10
        for kind in kinds:
            error = kind.__new__(kind, "x", "y")
            error.fact, error.advice = "x", "y"
            failed = translate(error)
            assert failed is not None, kind
            assert failed.exit_code in (1, 2, 3, 4)


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), ExceptionGroup("g", [TypeError("x")])])
def test_what_is_no_error_of_flowli_is_a_fault(error):
    assert translate(error) is None


def test_a_message_is_one_line():
    failed = translate(errors.NotAllowed("one\n  two\nthree"))
    assert failed is not None
    assert failed.message == "one two three"


def test_a_script_gets_the_error_as_json(capsys):
    failed = CommandFailed("no such thing", ExitCode.REFUSED, "UnknownExecution")
    failed.as_json = True
    failed.show()
    told = json.loads(capsys.readouterr().err)
    assert told == {"error": {"kind": "UnknownExecution", "message": "no such thing", "exit_code": 1}}


def test_the_documented_table_is_the_one_of_the_code():
    text = (DOCS / "cli.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.+?) \|$", text, re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == [
        (int(code), meaning) for code, meaning in MEANING.items()
    ]
    assert set(MEANING) == set(ExitCode)
