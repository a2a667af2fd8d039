"""``--app module:attr``: finding the Registry or the Engine that an application offers."""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import click

from flowli._suggest import near
from flowli.cli.exits import CommandFailed, ExitCode

if TYPE_CHECKING:
    from flowli.runtime import Engine, Registry

__all__ = ["load_application"]


async def load_application(target: str) -> Registry | Engine:
    """Import what ``--app`` names, and call it if it is a callable without arguments.

    Args:
        target: ``module:attr``; modules are found in the current folder first. ``attr`` may hold dots.

    Raises:
        CommandFailed: it has another form, does not import (the traceback of the application is printed first), or is
            neither a Registry nor an Engine.
    """
    from flowli.runtime import Engine, Registry

    found = _attribute(target)
    if not isinstance(found, Registry | Engine) and callable(found):
        found = await _called(target, found)
    if isinstance(found, Registry | Engine):
        return found
    raise _refused(
        f"--app {target} is a {type(found).__name__}; "
        "name a Registry, an Engine, or a callable without arguments that returns one"
    )


def _attribute(target: str) -> object:
    module_name, colon, path = target.partition(":")
    if not (colon and module_name and path):
        raise _refused(f"--app {target!r} has not the form module:attr; write for example --app app:registry")
    found: object = _module(target, module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            public = [one for one in dir(found) if not one.startswith("_")]
            hint = near(name, public) or f"; it has {', '.join(public[:8]) or 'no public names'}"
            raise _refused(f"--app {target}: {module_name} has no {path!r}{hint}")
        found = getattr(found, name)
    return found


def _module(target: str, name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise _refused(
                f"--app {target}: there is no module {missing!r} in {here} or on the Python path; "
                "run flowli in the folder that holds it"
            ) from None
        raise _broken(target, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(target, error) from error


async def _called(target: str, factory: object) -> object:
    assert callable(factory)
    try:
        inspect.signature(factory).bind()
    except TypeError:
        raise _refused(f"--app {target} needs arguments; name a callable that takes none") from None
    except ValueError:  # no signature can be read; the call will tell
        pass
    try:
        made = factory()
        return await made if inspect.isawaitable(made) else made
    except (Exception, SystemExit) as error:
        raise _broken(target, error) from error


def _broken(target: str, error: BaseException) -> CommandFailed:
    """Print the traceback from the application's first line on: what lies above it is flowli's own."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    skip = next((n for n, frame in enumerate(frames) if not _is_ours(frame.filename)), len(frames))
    shown = error.__traceback__
    for _ in range(skip):
        shown = shown.tb_next if shown else None
    click.echo("".join(traceback.format_exception(type(error), error, shown)).rstrip(), err=True)
    return _refused(f"--app {target} does not import ({type(error).__name__}); the traceback above shows the line")


def _is_ours(filename: str) -> bool:
    return filename == __file__ or filename.startswith("<frozen importlib") or "importlib" in filename


def _refused(message: str) -> CommandFailed:
    return CommandFailed(message, ExitCode.USAGE, "BadApplication")
