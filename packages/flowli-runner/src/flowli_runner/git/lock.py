"""One change of a repository's registrations at a time, over all runners of a host; what dead ones left is repaired.

The lock is one of the operating system on a file beside the repository's own: it ends with its process, however that
ends. Git's own lock files do not: they are taken away when nobody can hold them any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from flowli.world import World
from flowli_runner.git.command import Git, GitFailed

__all__ = ["GIT_LOCKED", "again_while_locked", "busy", "common_folder", "locked", "repair"]

GIT_LOCKED = (".lock': File exists", "could not lock", "Unable to create", "cannot lock ref")
_LOOK_S = 0.05
_TRIES = 40


async def common_folder(repository: Path) -> Path:
    """The git folder that all trees of a repository share.

    Raises:
        GitFailed: there is no repository.
    """
    return Path(await Git(repository)("rev-parse", "--path-format=absolute", "--git-common-dir"))


@asynccontextmanager
async def locked(world: World, common: Path) -> AsyncIterator[None]:
    """Hold the lock of a repository."""
    folder = common / "flowli-runner"
    folder.mkdir(exist_ok=True)
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not _got(file):
            await world.sleep(_LOOK_S * (0.5 + world.random().random()))
        yield
    finally:
        os.close(file)  # which ends the lock


def repair(common: Path) -> list[str]:
    """Take away the lock files of processes that are gone; the caller holds the lock of the repository.

    A lock file is stale if no process that could have written it lives: git always runs inside the repository, one of
    its trees, or with the file open. The locks of trees in which somebody works are left alone.
    """
    taken: list[str] = []
    candidates = [*common.glob("*.lock"), *common.glob("refs/**/*.lock"), *common.glob("worktrees/*/*.lock")]
    for path in candidates:
        seen = _inode(path)
        tree = _tree_of(path)
        around = [common, common.parent] if tree is None else [tree, path.parent]
        if any(_is_used(folder, git_only=tree is None) for folder in around):
            continue
        # one that was made since is of somebody who began after the look at the processes
        if seen is not None and _inode(path) == seen:
            with contextlib.suppress(OSError):
                path.unlink()
                taken.append(str(path))
    return taken


async def again_while_locked(world: World, common: Path, git: Git, *args: str) -> str:
    """Run a command of git again while somebody holds one of its locks; a stale lock is taken away.

    Raises:
        GitFailed: for another reason, or the lock is held on and on by a process that lives.
    """
    for tried in range(_TRIES):
        try:
            return await git(*args)
        except GitFailed as error:
            if tried == _TRIES - 1 or not any(sign in error.text for sign in GIT_LOCKED):
                raise
        repair(common)
        await world.sleep(_LOOK_S * (0.5 + world.random().random()) * min(tried + 1, 10))
    raise AssertionError


def busy(folder: Path) -> bool:
    """Whether a process works in the folder: it is its own, or one of its files is open."""
    return _is_used(folder, git_only=False)


def _got(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _tree_of(path: Path) -> Path | None:
    """The tree whose registration holds a lock file; None for a lock of the whole repository."""
    if path.parent.parent.name != "worktrees":
        return None
    try:
        return Path((path.parent / "gitdir").read_text().strip()).parent
    except OSError:
        return path.parent


def _is_used(folder: Path, *, git_only: bool) -> bool:
    prefix, me = str(folder.resolve()), os.getpid()
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True  # it cannot be known here
    return any(_works_in(pid, prefix, git_only) for pid in pids if pid != me)


def _works_in(pid: int, prefix: str, git_only: bool) -> bool:
    try:
        if git_only and not Path(f"/proc/{pid}/comm").read_text().startswith("git"):
            return False
        links = [f"/proc/{pid}/cwd", *(f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd"))]
    except OSError:
        return False
    for link in links:
        with contextlib.suppress(OSError):
            target = os.readlink(link)
            if target == prefix or target.startswith(f"{prefix}/"):
                return True
    return False
