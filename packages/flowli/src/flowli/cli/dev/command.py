"""``flowli dev``."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from flowli.cli.dev.http import serving
from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.jobs.stopping import draining
from flowli.cli.options import Settings, common, engine_options, settings
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.dev.feed import Feed
    from flowli.cli.dev.view import LinesView, TerminalView
    from flowli.runtime import Registry, Worker

__all__ = ["dev"]

_TTL_S = 3.0
_POLL_S = 0.25


@click.command(cls=FlowliCommand)
@click.option(
    "--queue", "queues", multiple=True, metavar="QUEUE", help="Queue to serve; repeatable. All of --app by default."
)
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="Executions at once."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Of the HTTP service; 0 for any.")
@click.option("--no-http", is_flag=True, help="Serve no HTTP, even if flowli-api is installed.")
@click.option("--reload", is_flag=True, help="Start anew when a Python file of the application changes.")
@engine_options
@common()
def dev(queues: tuple[str, ...], concurrency: int, port: int, no_http: bool, reload: bool) -> None:
    """Run a worker and a sweeper in one process, and show live what happens in the bucket.

    With flowli-api installed it also serves HTTP, on this machine only, under an address that opens this run.

    On a terminal: the newest executions and the latest events, drawn in place. Piped: one line per event. Ctrl-C
    drains and exits; a second one quits at once. TTLs are 3 seconds here unless set, so that what a killed process
    held is soon taken over.
    """
    found = settings()
    found.exec_ttl_s = _TTL_S if found.exec_ttl_s is None else found.exec_ttl_s
    found.task_ttl_s = _TTL_S if found.task_ttl_s is None else found.task_ttl_s
    if reload:
        _reload(found)
        return

    from flowli.cairn.observe import RequestCounts

    requests = RequestCounts()

    async def body(session: Session) -> None:
        from flowli.cli.dev.feed import Feed

        engine = session.engine
        registry = engine.registry
        await session.check_bucket()
        names = queues or tuple(sorted({"default", *(one.queue for one in registry)}))
        working = engine.worker(names, concurrency=concurrency, sweeper=True)
        feed = Feed(engine.ports)
        await feed.skip_history()  # before it says that one can start something
        _hello(session, registry, names)
        counts = None if session.storage is None else requests
        async with serving(engine, None if no_http else port, counts, session.storage) as url:
            if url is not None:
                session.screen.note(f"flowli: open {url}")
            with draining(working.stop, engine.config.grace_s), _view(session) as view:
                await _show(session, working, view, feed)

    run(body, needs_app="dev", worker_id="dev", log="warning", create=True, requests=requests)


async def _show(session: Session, working: Worker, view: LinesView | TerminalView, feed: Feed) -> None:
    engine = session.engine
    work = asyncio.create_task(working.run())
    try:
        while not work.done():
            view.update(feed, await feed.round(), engine.world.now())
            pause = asyncio.create_task(engine.world.sleep(_POLL_S))
            await asyncio.wait({work, pause}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
        await work
        view.update(feed, await feed.round(), engine.world.now())
    finally:
        work.cancel()


def _view(session: Session) -> LinesView | TerminalView:
    from flowli.cli.dev.view import LinesView, TerminalView

    if session.screen.terminal:
        return TerminalView(session.screen, f"flowli dev  {session.storage or ''}")
    return LinesView(session.screen)


def _hello(session: Session, registry: Registry, queues: tuple[str, ...]) -> None:
    import inspect

    screen = session.screen
    screen.note(f"flowli: worker and sweeper on {session.storage or 'the engine of --app'}, queues {', '.join(queues)}")
    for workflow in registry:
        parameters = list(inspect.signature(workflow.fn).parameters.values())[1:]
        needed = "".join(f" --arg {one.name}=..." for one in parameters if one.default is one.empty)
        screen.note(f"flowli: to start one: flowli start {workflow.name}{needed}")


def _reload(found: Settings) -> None:
    from flowli.cli.dev.reload import reloading, source_root
    from flowli.world import SYSTEM

    if not found.app:
        message = "flowli dev needs an application; give --app module:attr or set FLOWLI_APP"
        raise CommandFailed(message, ExitCode.USAGE, "NoApplication")
    arguments = [one for one in sys.argv[1:] if one != "--reload"]
    command = [sys.executable, "-m", "flowli.cli", *arguments]
    code = asyncio.run(reloading(command, source_root(found.app), SYSTEM))
    click.get_current_context().exit(code)
