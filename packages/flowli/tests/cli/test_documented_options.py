"""``docs/reference/configuration.md`` and the code say the same, both ways."""

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from flowli.cli.commands import COMMANDS
from flowli.cli.main import flowli
from flowli.cli.options import Common

DOCS = Path(__file__).parents[4] / "docs" / "reference"
TEXT = (DOCS / "configuration.md").read_text()
SOURCES = Path(__file__).parents[2] / "src" / "flowli"


def section(title: str) -> list[list[str]]:
    """The rows of the table under a heading."""
    body = TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in body.splitlines() if line.startswith("|")
    ]
    return rows[2:]


def flag(cell: str) -> str:
    return cell.strip("`").split(" ")[0]


def options(command: click.Command, *, shared: bool) -> list[click.Option]:
    found = [one for one in command.params if isinstance(one, click.Option) and one.name != "version_flag"]
    return [one for one in found if isinstance(one, Common) is shared]


def loaded() -> dict[str, click.Command]:
    return {one.name: one.load() for one in COMMANDS}


def with_parts() -> dict[str, click.Command]:
    """Every command, and those that are parts of one: ``queues pause``."""
    found = loaded()
    for name, command in loaded().items():
        if isinstance(command, click.Group):
            found |= {f"{name} {part}": one for part, one in command.commands.items()}
    return found


def test_each_option_of_a_command_is_documented_and_each_documented_one_exists():
    documented = {}
    for commands, option, environment, default, _ in section("Options of one command"):
        for command in re.findall(r"`([\w -]+)`", commands):
            variable = environment.strip("`").replace("{COMMAND}", re.sub("[ -]", "_", command.upper()))
            documented[command, flag(option)] = (variable, default.strip("`"))
    real = {
        (name, option.opts[0]): option
        for name, command in with_parts().items()
        for option in options(command, shared=False)
    }
    assert set(documented) == set(real)
    for key, option in real.items():
        variable, default = documented[key]
        assert option.envvar == variable, key
        assert default == shown(option, default), key


def shown(option: click.Option, documented: str) -> str:
    """The default of the code as the table writes it; in words where the code leaves it to something else."""
    if option.required:
        return "required"
    if option.is_flag:
        return "off"
    plain = option.default[0] if isinstance(option.default, tuple) and option.default else option.default
    if isinstance(plain, str | int) and not isinstance(plain, bool):
        return str(plain) or "none"
    assert not re.fullmatch(r"\d+s?", documented) or option.name == "priority"
    return documented


@pytest.mark.parametrize(
    ("title", "commands"),
    [("Common options", ["list", "worker"]), ("Options of long-running commands", ["worker", "sweeper", "dev"])],
)
def test_the_shared_options_are_documented(title, commands):
    documented = {flag(option): variable.strip("`") for option, variable, *_ in section(title)}
    root = {one.opts[0] for one in options(flowli, shared=True)}
    for name in commands:
        real = {one.opts[0]: one.envvar for one in options(loaded()[name], shared=True)}
        wanted = {key: value for key, value in real.items() if (key in root) is (title == "Common options")}
        assert documented == wanted


def test_the_variables_without_an_option_are_documented_and_read():
    documented = {row[0].strip("`") for row in section("Variables without an option")}
    text = "".join(path.read_text() for path in [*SOURCES.glob("cli/**/*.py"), *SOURCES.glob("*.py")])
    read = set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', text)) | set(
        re.findall(r'^BLOCK = "(\w+)"', text, re.MULTILINE)
    )
    assert documented == read


def test_the_settings_of_an_engine_are_documented():
    from flowli.runtime.config import EngineConfig

    documented = {name.strip("`"): default for name, default, _ in section("Settings of an engine")}
    assert documented == {one.name: _default(one.default) for one in fields(EngineConfig)}


def _default(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)


def test_every_command_is_documented_and_every_documented_one_exists():
    text = (DOCS / "cli.md").read_text().partition("## Commands")[2].partition("###")[0]
    assert set(re.findall(r"^\| `([\w-]+)", text, re.MULTILINE)) == set(loaded())
