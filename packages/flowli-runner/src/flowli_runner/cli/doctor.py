"""``flowli-runner doctor``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import click

from flowli.cli.exits import ExitCode
from flowli.domain.errors import FlowliError
from flowli_runner.agents.finding import make_agents
from flowli_runner.cli.options import config_options, configured, url_option
from flowli_runner.git.command import Git, GitFailed
from flowli_runner.git.names import BadName, check_ref
from flowli_runner.work.config import RunnerConfig

__all__ = ["doctor", "findings"]

_OLDEST_GIT: tuple[int, int] = (2, 36)


@click.command(short_help="Check git, repository, agents and queue.")
@config_options
@url_option
def doctor(
    path: Path, storage: str | None, queue: str | None, worker_id: str | None, parallel: int | None, url: str | None
) -> None:
    """See whether git, the repository, the agents and the queue are as a runner needs them.

    Each line begins with ok or BAD; with a BAD one the exit code is 1. No task is taken and no agent is started.
    """
    config = configured(path, storage=storage, queue=queue, worker_id=worker_id, parallel=parallel)
    bad = asyncio.run(_tell(config, url))
    if bad:
        click.get_current_context().exit(ExitCode.REFUSED)


async def _tell(config: RunnerConfig, url: str | None) -> int:
    bad = 0
    async for what, problem in findings(config, url):
        bad += problem is not None
        click.echo(f"{'ok  ' if problem is None else 'BAD '} {what}{'' if problem is None else f': {problem}'}")
    return bad


async def findings(config: RunnerConfig, url: str | None = None) -> AsyncIterator[tuple[str, str | None]]:
    """What was looked at, and the problem with it; None where there is none.

    Args:
        url: of the service through which the queue is reached; None for the bucket of the configuration.
    """
    yield "git", await _git()
    if config.repository:
        yield f"repository {config.repository}", await _repository(config)
    yield f"work_dir {config.work_dir}", _work_dir(config)
    from flowli.world import SYSTEM

    for name, setup in config.setups().items():
        try:
            yield f"agent {name} ({setup.kind})", make_agents([setup], SYSTEM)[name].problem()
        except FlowliError as error:
            yield f"agent {name} ({setup.kind})", str(error)
    if url is None:
        yield await _queue(config)
    else:
        yield f"queue {config.queue} at {url}", await _queue_of_service(config, url)


async def _git() -> str | None:
    try:
        said = await Git(Path.cwd())("version")
    except (OSError, GitFailed) as error:
        return f"it cannot be run ({error}); install git {'.'.join(map(str, _OLDEST_GIT))} or later"
    found = re.search(r"(\d+)\.(\d+)", said)
    new_enough = found is not None and (int(found[1]), int(found[2])) >= _OLDEST_GIT
    return None if new_enough else f"{said} is too old; install 2.36 or later"


async def _repository(config: RunnerConfig) -> str | None:
    try:
        git = Git(Path(config.repository))
        base = check_ref(config.default_base, "default_base")
        await git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    except BadName as error:
        return str(error)
    except GitFailed:
        return f"default_base {config.default_base!r} names no commit of it; name a branch that is there"
    except OSError:
        return "there is no such folder"
    return None


def _work_dir(config: RunnerConfig) -> str | None:
    try:
        Path(config.work_dir).mkdir(parents=True, exist_ok=True)
        probe = Path(config.work_dir, ".probe")
        probe.touch()
        probe.unlink()
    except OSError as error:
        return f"nothing can be written there: {error.strerror}"
    return None


async def _queue(config: RunnerConfig) -> tuple[str, str | None]:
    from flowli.adapters.opening import open_backend

    what = f"queue {config.queue}"
    if not config.storage:
        return what, "no storage is named; write storage = 'file:./bucket' into the file or give --storage"
    try:
        backend = open_backend(config.storage)
        try:
            settings = await backend.ports.queue.settings(config.queue)
            new = not (await backend.ports.control.read(limit=1)).entries
        finally:
            await backend.close()
    except FlowliError as error:
        return what, str(error)
    if settings.paused is not None:
        return what, f"it is paused ({settings.paused}); `flowli queues resume` opens it"
    return f"{what} (nothing was ever started in {config.storage}: is it the right bucket?)" if new else what, None


async def _queue_of_service(config: RunnerConfig, url: str) -> str | None:
    try:
        from flowli_runner.remote.look import look_at_service
    except ImportError:
        return "the HTTP service needs its client; run: pip install flowli-api"
    return await look_at_service(config.queue, url)
