"""``flowli init``."""

from __future__ import annotations

from pathlib import Path

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.init.templates import APPLICATION, PLUGINS
from flowli.cli.options import common, settings
from flowli.cli.render.screen import Screen
from flowli.cli.shell import FlowliCommand

__all__ = ["init"]


@click.command(cls=FlowliCommand, short_help="Make a small application, or a plugin, with a test.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--plugin", type=click.Choice(sorted(PLUGINS)), help="Make a distribution for a plugin of this kind.")
@common(bucket=False)
def init(folder: Path, plugin: str | None) -> None:
    """Make a small application in FOLDER: a workflow with steps, a signal and a sleep, a test, and a README.

    With --plugin make a distribution for a plugin instead, which works from the start and whose test is the contract
    of its kind. It takes its names from FOLDER: flowli-store-shelf registers the URL scheme shelf.

    FOLDER is made if it does not exist; one that holds anything is refused.
    """
    _check(folder)
    template = APPLICATION if plugin is None else PLUGINS[plugin]
    made = template.made(folder.resolve().name)
    try:
        for name, text in made.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        problem = f"{folder} cannot be written: {error.strerror or error}"
        raise CommandFailed(f"{problem}; choose another folder", ExitCode.USAGE, "BadFolder") from None
    screen = Screen(json_wanted=settings().json)
    if screen.json_wanted:
        screen.json({"folder": str(folder), "files": [*sorted(made)]})
        return
    screen.line(f"made {folder}: {', '.join(sorted(made))}")
    screen.line(f"now: cd {folder} && {template.then}")


def _check(folder: Path) -> None:
    try:
        taken = folder.exists() and any(folder.iterdir())
    except OSError as error:
        problem = f"{folder} cannot be read: {error.strerror or error}"
        raise CommandFailed(f"{problem}; choose another folder", ExitCode.USAGE, "BadFolder") from None
    if taken:
        message = f"{folder} is not empty; name a folder that is empty or does not exist yet"
        raise CommandFailed(message, ExitCode.REFUSED, "FolderNotEmpty")
