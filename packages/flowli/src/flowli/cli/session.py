"""One command's backend and engine: opened from the settings, closed when the command ends."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import STORAGE_VARIABLE, Settings, settings
from flowli.cli.render.screen import Screen

if TYPE_CHECKING:
    import click

    from flowli.cairn.observe import RequestObserver
    from flowli.descriptors import Backend
    from flowli.domain.data import Data
    from flowli.domain.ids import Eid
    from flowli.domain.provenance import Actor
    from flowli.runtime import Engine, EngineConfig, Registry

__all__ = ["Session", "opened_session", "operator", "run", "run_loop"]

run_loop = asyncio.run
"""Runs the one coroutine of a command to its end."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with.

    Attributes:
        engine: over the bucket; its registry is that of ``--app``, or empty.
        screen: where the answer goes.
        settings: what the common options say.
        storage: URL of the bucket; None when the application brought its own engine.
        has_app: an application was named.
    """

    engine: Engine
    screen: Screen
    settings: Settings
    storage: str | None
    has_app: bool

    async def eid(self, text: str) -> Eid:
        """The execution that an id or an unambiguous prefix of one names.

        Raises:
            CommandFailed: none or several begin like that; the near ones are listed.
            InvalidName: it cannot be an id.
        """
        from flowli.cli.ids import resolve, whole

        named = whole(text)
        if named is not None:
            return named
        from flowli.cli.index import opened

        async with opened(self) as index:
            return await resolve(index, text, self.engine.world.now())

    def teach(self) -> None:
        """Have the engine learn from the index, not from the whole control log, what workers have announced."""
        from flowli.cli.index import worker_announcements

        if self.storage is not None and not self.storage.startswith("memory:"):
            self.engine.known_code.elsewhere = lambda: worker_announcements(self)

    async def check_bucket(self) -> None:
        """Make sure that the bucket can be used, before a process begins that would try again for ever.

        Raises:
            BackendError: it cannot.
        """
        await self.engine.ports.control.read(limit=1)

    async def value(self, eid: Eid) -> Data:
        """What a completed execution returned, as it is recorded; None for any other."""
        from flowli.domain.entries import ExecutionCompleted

        end = (await self.engine.frames(eid)).end
        return end.value if isinstance(end, ExecutionCompleted) else None


def run(
    body: Callable[[Session], Awaitable[None]],
    *,
    needs_app: str = "",
    uses_app: bool = False,
    worker_id: str | None = None,
    log: str = "warning",
    create: bool = False,
    requests: RequestObserver | None = None,
) -> None:
    """Open a session, run ``body`` in it on a fresh event loop, close it.

    Args:
        needs_app: name of the command, if it cannot do without ``--app``.
        uses_app: it knows more with the application's registry.
        worker_id: names this process in everything it writes.
        log: log level unless ``--log-level`` says otherwise.
        create: a bucket folder that does not exist is made; otherwise it is refused, for its name may be misspelt.
        requests: told of every request to the bucket that ``--storage`` names.
    """
    from flowli.log import configure

    found = settings()
    configure(level=found.log_level or log, json=found.json)

    async def main() -> None:
        app = await _application(found, needs_app, uses_app)
        async with _opened(found, app, worker_id, create=create, requests=requests) as session:
            await body(session)

    run_loop(main())


def operator() -> Actor:
    """The person at the shell: ``FLOWLI_ACTOR``, or the name of the user."""
    from flowli.domain.provenance import Actor, ActorKind

    name = os.environ.get("FLOWLI_ACTOR")
    if not name:
        try:
            name = getpass.getuser()
        except (KeyError, OSError):  # a container's user without an entry in the password file
            name = f"uid-{os.getuid()}"
    return Actor(ActorKind.HUMAN, name)


async def _application(found: Settings, needs_app: str, uses_app: bool) -> Registry | Engine | None:
    """The application, if the command has a use for it: one that only looks must work while the code is broken."""
    from flowli.cli.application import load_application

    if not found.app and needs_app:
        message = f"flowli {needs_app} needs an application; give --app module:attr or set FLOWLI_APP"
        raise CommandFailed(message, ExitCode.USAGE, "NoApplication")
    wanted = needs_app or uses_app or found.on_command_line("app") or not found.storage
    return await load_application(found.app) if found.app and wanted else None


@asynccontextmanager
async def opened_session(context: click.Context) -> AsyncIterator[Session]:
    """A session for what the options and the environment of a command name, outside of ``run``: for completion."""
    found = settings(context)
    storage = found.storage or os.environ.get(STORAGE_VARIABLE)
    if storage is None:
        raise CommandFailed("no storage is named", ExitCode.USAGE, "NoStorage")
    async with _opened(replace(found, storage=storage), None, None, create=False) as session:
        yield session


@asynccontextmanager
async def _opened(
    found: Settings,
    app: Registry | Engine | None,
    worker_id: str | None,
    *,
    create: bool,
    requests: RequestObserver | None = None,
) -> AsyncIterator[Session]:
    from flowli.domain.provenance import Site
    from flowli.runtime import Engine, Registry

    screen = Screen(json_wanted=found.json)
    if isinstance(app, Engine):
        if found.on_command_line("storage"):
            message = f"--app {found.app} names an Engine, which has its storage already; leave --storage out"
            raise CommandFailed(message, ExitCode.USAGE, "BadApplication")
        yield Session(app, screen, found, None, has_app=True)
        await app.close()
        return
    if not found.storage:
        message = "no storage is named; give --storage URL (for example file:./bucket) or set FLOWLI_STORAGE"
        raise CommandFailed(message, ExitCode.USAGE, "NoStorage")
    site = Site.local(worker_id or f"cli-{os.getpid()}")
    registry = Registry() if app is None else app
    async with _backend(found.storage if create else _existing(found.storage), requests) as backend:
        engine = Engine(backend.ports, site, registry=registry, config=_config(found))
        yield Session(engine, screen, found, backend.url, has_app=app is not None)
        await engine.close()  # not after an error: what could not be announced would be waited for


@asynccontextmanager
async def _backend(url: str, requests: RequestObserver | None) -> AsyncIterator[Backend]:
    from flowli.adapters import open_backend

    backend = open_backend(url, requests=requests)
    try:
        yield backend
    finally:
        await backend.close()


def _existing(url: str) -> str:
    """The URL that does not make a bucket folder which is missing."""
    if not url.startswith("file:") or "create=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}create=false"


def _config(found: Settings) -> EngineConfig:
    from flowli.runtime import EngineConfig

    config = EngineConfig()
    for name in ("exec_ttl_s", "task_ttl_s", "grace_s"):
        given = getattr(found, name)
        config = config if given is None else replace(config, **{name: given})
    return config
