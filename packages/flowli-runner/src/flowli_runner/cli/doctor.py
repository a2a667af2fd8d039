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
from flowli_runner.cli.options import config_options, configured
from flowli_runner.git.command import Git, GitFailed
from flowli_runner.git.names import BadName, check_ref
from flowli_runner.work.config import RunnerConfig

__all__ = ["doctor", "findings"]

_OLDEST_GIT: tuple[int, int] = (2, 36)


@click.command()
@config_options
def doctor(path: Path, storage: str | None, queue: str | None, worker_id: str | None, parallel: int | None) -> None:
    """See whether git, the repository, the agents and the queue are as a runner needs them."""
    config = configured(path, storage=storage, queue=queue, worker_id=worker_id, parallel=parallel)
    bad = asyncio.run(_tell(config))
    if bad:
        click.get_current_context().exit(ExitCode.REFUSED)


async def _tell(config: RunnerConfig) -> int:
    bad = 0
    async for what, problem in findings(config):
        bad += problem is not None
        click.echo(f"{'ok  ' if problem is None else 'BAD '} {what}{'' if problem is None else f': {problem}'}")
    return bad


async def findings(config: RunnerConfig) -> AsyncIterator[tuple[str, str | None]]:
    """What was looked at, and the problem with it; None where there is none."""
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
    yield f"queue {config.queue}", await _queue(config)


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


async def _queue(config: RunnerConfig) -> str | None:
    from flowli.adapters.opening import open_backend

    if not config.storage:
        return "no storage is named; write storage = 'file:./bucket' into the file or give --storage"
    try:
        backend = open_backend(config.storage)
        try:
            settings = await backend.ports.queue.settings(config.queue)
        finally:
            await backend.close()
    except FlowliError as error:
        return str(error)
    return None if settings.paused is None else f"it is paused ({settings.paused}); `flowli queues resume` opens it"
