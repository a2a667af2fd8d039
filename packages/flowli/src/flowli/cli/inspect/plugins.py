"""``flowli plugins``: what is installed and what it provides."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common, settings
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Screen
    from flowli.domain.data import Data
    from flowli.plugins import Plugin

__all__ = ["plugins"]


@click.command(cls=FlowliCommand)
@common(bucket=False)
def plugins() -> None:
    """List the installed plugins with their distribution and version, and what each provides.

    It runs, and says what is wrong, when a broken plugin stops every other command; the exit code is then 2.
    FLOWLI_PLUGINS_BLOCK holds the names of plugins to leave out, separated by commas.
    """
    from flowli.cli.render.screen import Screen
    from flowli.plugins import PluginWarning, discover

    screen = Screen(json_wanted=settings().json)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PluginWarning)
        found = discover(strict=False).plugins
    notes = [str(one.message) for one in caught if issubclass(one.category, PluginWarning)]
    if screen.json_wanted:
        screen.json([_data(plugin) for plugin in found])
    else:
        _print(screen, found)
    for note in notes:
        screen.note(f"flowli: {note}")
    broken = [plugin.name for plugin in found if plugin.problem]
    if broken:
        message = f"broken: {', '.join(broken)}; every other command stops until this is repaired"
        raise CommandFailed(message, ExitCode.USAGE, "PluginError")


def _print(screen: Screen, found: tuple[Plugin, ...]) -> None:
    rows = [[one.name, one.distribution, one.version, _state(one), _provides(one)] for one in found]
    screen.table(("PLUGIN", "DISTRIBUTION", "VERSION", "STATE", "PROVIDES"), rows)
    for plugin in found:
        if plugin.problem:
            screen.line((f"{plugin.name}: {plugin.problem}", "red"))


def _state(plugin: Plugin) -> str:
    return "broken" if plugin.problem else "blocked" if plugin.blocked else "ok"


def _provides(plugin: Plugin) -> str:
    by_hook: dict[str, list[str]] = {}
    for hook, name in plugin.provides:
        by_hook.setdefault(hook.removeprefix("flowli_"), []).append(name)
    return "; ".join(f"{hook}: {', '.join(names)}" for hook, names in by_hook.items()) or "-"


def _data(plugin: Plugin) -> dict[str, Data]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "module": plugin.module,
        "state": _state(plugin),
        "provides": [{"hook": hook, "name": name} for hook, name in plugin.provides],
        "problem": plugin.problem,
    }
