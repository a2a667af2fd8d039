"""Option, environment, default: which one counts."""

import json

import click
import pytest

from flowli.cli.main import flowli
from flowli.cli.options import common, engine_options, settings
from flowli.cli.shell import FlowliCommand


@pytest.fixture
def probe(monkeypatch):
    """A command that tells its settings."""

    @click.command("probe", cls=FlowliCommand)
    @engine_options
    @common()
    def command() -> None:
        found = settings()
        click.echo(json.dumps({"app": found.app, "storage": found.storage, "json": found.json, "grace": found.grace_s}))

    monkeypatch.setattr(type(flowli), "get_command", lambda self, ctx, name: command)


@pytest.mark.parametrize(
    ("arguments", "env", "storage"),
    [
        (["probe"], {}, None),
        (["probe"], {"FLOWLI_STORAGE": "e"}, "e"),
        (["probe", "--storage", "o"], {"FLOWLI_STORAGE": "e"}, "o"),
        (["--storage", "g", "probe"], {"FLOWLI_STORAGE": "e"}, "g"),
        (["--storage", "g", "probe"], {}, "g"),
        (["--storage", "g", "probe", "--storage", "o"], {"FLOWLI_STORAGE": "e"}, "o"),
    ],
)
def test_an_option_stands_before_its_variable_and_that_before_the_default(invoke, probe, arguments, env, storage):
    assert json.loads(invoke(*arguments, env=env).output)["storage"] == storage


@pytest.mark.parametrize(
    ("arguments", "env"), [(["--json", "probe"], {}), (["probe", "--json"], {}), (["probe"], {"FLOWLI_JSON": "1"})]
)
def test_a_flag_is_read_from_anywhere(invoke, probe, arguments, env):
    assert json.loads(invoke(*arguments, env=env).output)["json"] is True


def test_the_options_of_the_engine_have_variables_too(invoke, probe):
    assert json.loads(invoke("probe", env={"FLOWLI_GRACE": "4.5"}).output)["grace"] == 4.5


def test_a_variable_of_the_wrong_kind_is_wrong_usage(invoke, probe):
    done = invoke("probe", env={"FLOWLI_GRACE": "soon"})
    assert done.exit_code == 2
    assert "'soon' is not a valid float" in done.stderr
