"""The help: by topic, within 80 columns, from descriptors alone."""

import re

import pytest

from flowli.cli.commands import COMMANDS, TOPICS
from flowli.descriptors import CommandType
from flowli.plugins import manager

NAMES = [one.name for one in COMMANDS]


def test_every_command_of_the_core_is_there_under_its_topic(invoke):
    text = invoke("--help").output
    under = dict(re.findall(r"^(\w+):\n((?:  .+\n)+)", text, re.MULTILINE))
    for command in COMMANDS:
        assert re.search(rf"^  {command.name} +{re.escape(command.summary)}$", under[command.topic], re.MULTILINE)
    assert [topic for topic in under if topic in TOPICS] == list(TOPICS)


def test_the_core_registers_its_commands_by_the_hook():
    assert [name for name in manager().all(CommandType) if name in NAMES] == NAMES


def test_flowli_alone_prints_its_help(invoke):
    done = invoke()
    assert done.exit_code == 0
    assert done.output == invoke("--help").output


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_80_columns_and_says_what_the_command_is_for(invoke, name):
    done = invoke(*filter(None, [name]), "--help")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0].startswith(f"Usage: flowli {name}".rstrip())
    assert lines[2].strip()


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_of_a_command_fits_on_its_line(name):
    (command,) = [one for one in COMMANDS if one.name == name]
    assert len(command.summary) <= 60
    assert not command.summary.endswith(".")
    assert command.load().name == name


def test_an_unknown_command_proposes_near_ones(invoke):
    done = invoke("strat")
    assert done.exit_code == 2
    assert done.stderr == "flowli: flowli has no command 'strat'; did you mean 'start' or 'status'?\n"


def test_a_command_far_from_all_points_to_the_help(invoke):
    assert "`flowli --help` lists them" in invoke("xyzzy-plugh").stderr


def test_the_version_is_that_of_the_distribution(invoke):
    from flowli import __version__

    assert invoke("--version").output == f"flowli {__version__}\n"
