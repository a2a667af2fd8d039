"""``flowli init``."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common, settings
from flowli.cli.render.screen import Screen
from flowli.cli.shell import FlowliCommand

__all__ = ["init"]

_FILES = {
    "app.txt": "app.py",
    "test_app.txt": "test_app.py",
    "pyproject.txt": "pyproject.toml",
    "readme.txt": "README.md",
    "gitignore.txt": ".gitignore",
}


@click.command(cls=FlowliCommand, short_help="Make a small application with a workflow and a test.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@common(bucket=False)
def init(folder: Path) -> None:
    """Make a small application in FOLDER: a workflow with steps, a signal and a sleep, a test, and a README.

    FOLDER is made if it does not exist; one that holds anything is refused.
    """
    _check(folder)
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "app"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in _FILES.items():
            text = files("flowli.cli.init").joinpath("files", source).read_text(encoding="utf-8")
            (folder / target).write_text(text.replace("{{name}}", name), encoding="utf-8")
    except OSError as error:
        problem = f"{folder} cannot be written: {error.strerror or error}"
        raise CommandFailed(f"{problem}; choose another folder", ExitCode.USAGE, "BadFolder") from None
    screen = Screen(json_wanted=settings().json)
    if screen.json_wanted:
        screen.json({"folder": str(folder), "files": [*sorted(_FILES.values())]})
        return
    screen.line(f"made {folder}: {', '.join(sorted(_FILES.values()))}")
    screen.line(f"now: cd {folder} && flowli dev --app app:registry --storage file:./bucket")


def _check(folder: Path) -> None:
    try:
        taken = folder.exists() and any(folder.iterdir())
    except OSError as error:
        problem = f"{folder} cannot be read: {error.strerror or error}"
        raise CommandFailed(f"{problem}; choose another folder", ExitCode.USAGE, "BadFolder") from None
    if taken:
        message = f"{folder} is not empty; name a folder that is empty or does not exist yet"
        raise CommandFailed(message, ExitCode.REFUSED, "FolderNotEmpty")
