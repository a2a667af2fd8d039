"""Keeping every byte of a tree in a commit that a ref names, without the tree's help.

Nothing of git decides what is worth keeping: neither ignore rules (unless the configuration says so), nor filters, nor
flags of the index, nor a repository inside the tree. Each file is hashed as it stands. Hooks, signing and the state of
the tree's own index cannot make it fail.

1. Write each file as an object, and the tree of all of them from an index of its own.
2. Make a commit of it. Its parents keep what only the tree's own git folder names: its head, its staged content, and
   the commits that its head pointed to and no branch holds any more.
3. Point the ref at it. *A crash before it*: nothing is kept yet, and the tree still stands.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flowli_runner.git.command import Git, GitFailed
from flowli_runner.git.names import kept_ref

__all__ = ["Kept", "keep", "snapshot"]

_INNER_GIT = "dot-git~flowli"
"""In the place of ``.git`` in the paths of a repository inside the tree: git refuses to hold that name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept.

    Attributes:
        ref: that names the commit.
        commit: of all files.
        tree: of the commit.
    """

    ref: str
    commit: str
    tree: str


async def keep(folder: Path, attempt: str, *, ignored: bool = True) -> Kept:
    """Keep all of a tree.

    Args:
        folder: its root.
        attempt: names the ref.
        ignored: files that git ignores too.

    Raises:
        GitFailed: it could not be done; then the tree must stay.
    """
    git = Git(folder)
    tree = await snapshot(folder, ignored=ignored)
    parents = await _parents(git)
    args = [part for parent in parents for part in ("-p", parent)]
    commit = await git("commit-tree", *args, "-m", f"Everything of {attempt}", tree)
    await git("update-ref", "-m", "kept by flowli-runner", kept_ref(attempt), commit)
    return Kept(kept_ref(attempt), commit, tree)


async def snapshot(folder: Path, *, ignored: bool = True) -> str:
    """The id of a git tree that holds every file of ``folder`` byte by byte."""
    left_out = frozenset[bytes]() if ignored else await _ignored(folder)
    files = [one for one in _files(os.fsencode(folder), b"") if not _within(one[0], left_out)]
    plain = [(path, mode) for path, mode in files if mode != 0o120000]
    index = _own_index(folder, await Git(folder)("rev-parse", "--path-format=absolute", "--git-dir"))
    git = Git(folder, {"GIT_INDEX_FILE": str(index)})
    # a path with a line end cannot be told by lines: such a file is given as it is
    by_line = [path for path, _ in plain if b"\n" not in path]
    objects: dict[bytes, str] = {}
    if by_line:
        lines = b"".join(os.path.join(os.fsencode(folder), path) + b"\n" for path in by_line)
        found = await git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=lines)
        objects = dict(zip(by_line, found.split("\n"), strict=True))
    for path, mode in files:
        if path not in objects:
            body = _body(os.path.join(os.fsencode(folder), path), mode)
            objects[path] = await git("hash-object", "-w", "--no-filters", "--stdin", stdin=body)
    entries = b"".join(b"%o %s\t%s\0" % (mode, objects[path].encode(), _storable(path)) for path, mode in files)
    try:
        await git("read-tree", "--empty")
        await git("update-index", "-z", "--add", "--index-info", stdin=entries)
        return await git("write-tree")
    finally:
        index.unlink(missing_ok=True)


def _own_index(folder: Path, git_folder: str) -> Path:
    """Where the index of a snapshot stands: beside the tree's own, so that no other tree uses it, and no other process:
    a runner that does not know yet that it lost its task may be at the same tree.
    """
    return Path(git_folder) / f"flowli-{folder.name}-{os.getpid()}.index"


async def _parents(git: Git) -> list[str]:
    """The head, the staged content, and lost commits."""
    found: list[str] = []
    code, head, _ = await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not code:
        found.append(head.decode().strip())
    try:
        staged = await git("write-tree")
        if not found or staged != await git("rev-parse", f"{found[0]}^{{tree}}"):
            args = [part for parent in found for part in ("-p", parent)]
            found.append(await git("commit-tree", *args, "-m", "What was staged", staged))
    except GitFailed:  # a merge under way has no staged tree; its files are in the snapshot
        pass
    code, log, _ = await git.run("log", "-g", "--format=%H", "HEAD")
    if not code and found:
        seen = list(dict.fromkeys(log.decode().split()))
        known = set((await git("rev-list", "--max-count=5000", *found)).split())
        found += [one for one in seen if one not in known][:100]
    return list(dict.fromkeys(found))


async def _ignored(folder: Path) -> frozenset[bytes]:
    said = await Git(folder)("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return frozenset(os.fsencode(one).rstrip(b"/") for one in said.split("\0") if one)


def _within(path: bytes, folders: frozenset[bytes]) -> bool:
    parts = path.split(b"/")
    return any(b"/".join(parts[:count]) in folders for count in range(1, len(parts) + 1))


def _files(root: bytes, inside: bytes) -> Iterator[tuple[bytes, int]]:
    """Path and git mode of every file under ``root``, but for the git folder of the tree itself."""
    with os.scandir(os.path.join(root, inside)) as found:
        entries = sorted(found, key=lambda one: one.name)
    for entry in entries:
        path = os.path.join(inside, entry.name)
        mode = entry.stat(follow_symlinks=False).st_mode
        if path == b".git":
            continue
        if stat.S_ISDIR(mode):
            yield from _files(root, path)
        elif stat.S_ISLNK(mode):
            yield path, 0o120000
        elif stat.S_ISREG(mode):
            yield path, 0o100755 if mode & 0o100 else 0o100644


def _body(path: bytes, mode: int) -> bytes:
    return os.readlink(path) if mode == 0o120000 else Path(os.fsdecode(path)).read_bytes()


def _storable(path: bytes) -> bytes:
    parts = path.split(b"/")
    return b"/".join(_INNER_GIT.encode() if part.lower() == b".git" else part for part in parts)
