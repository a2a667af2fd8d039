"""``Trees``: a tree and a branch for each attempt on one repository.

1. Under the lock of the repository: choose a name that is free, and add the tree, registered as locked by its owner.
   *A crash after it*: the tree stands with its owner's name; ``leftovers`` finds it when the owner is dead.
2. The agent works in it.
3. ``seal``: what is not committed becomes the last commit of the attempt's branch, made without the tree's own index,
   hooks or signature; what changed since the base is told. *A crash after it*: doing it again changes nothing.
4. ``put_away``: every byte is kept under a ref, and only then, if nobody works in it and nothing has changed since, the
   tree is removed. Otherwise it stays, and its path is told. *A crash in between*: the next look does it again.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from flowli.world import ProcessIdentity, World
from flowli_runner.git.command import Git, GitFailed
from flowli_runner.git.keep import Kept, keep, snapshot
from flowli_runner.git.lock import again_while_locked, busy, common_folder, locked, repair
from flowli_runner.git.names import BadName, branch_of, check_ref

__all__ = ["PutAway", "Sealed", "Tree", "Trees"]

_ZERO = "0" * 40


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of one attempt.

    Attributes:
        attempt: its name.
        folder: its root.
        branch: of the attempt.
        base: the commit it began from.
    """

    attempt: str
    folder: Path
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """What has become of a tree.

    Attributes:
        head: the last commit of the branch.
        changes: (status, path) of all that differs from the base.
    """

    head: str
    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PutAway:
    """How a tree was put away.

    Attributes:
        kept: where its bytes are; None if they could not be kept.
        why_left: why the tree still stands; "" if it is gone.
    """

    kept: Kept | None
    why_left: str = ""


class Trees:
    """The trees of one repository.

    Args:
        repository: any folder of it.
        root: where trees are made.
        ignored: whether files that git ignores are kept too.
    """

    def __init__(self, repository: Path, root: Path, *, world: World, ignored: bool = True) -> None:
        self._repository, self._root = repository, root.resolve()
        self._world = world
        self._ignored = ignored

    async def add(self, attempt: str, base_ref: str = "HEAD") -> Tree:
        """Make the tree of an attempt; one that is asked for twice gets two.

        Raises:
            BadName: the base is no name of a commit.
            GitFailed: git cannot do it.
        """
        git, common = Git(self._repository), await common_folder(self._repository)
        base = await self._commit(git, check_ref(base_ref))
        self._root.mkdir(parents=True, exist_ok=True)
        async with locked(self._world, common):
            name, count = attempt, 1
            while await self._exists(git, name):
                count += 1
                name = f"{attempt}.{count}"
            tree = Tree(name, self._root / name, branch_of(name), base)
            reason = json.dumps({"runner": asdict(self._world.process()), "base": base})
            where = ["-b", tree.branch, "--", str(tree.folder), base]
            add = ["worktree", "add", "--quiet", "--no-track", "--lock", "--reason", reason, *where]
            await again_while_locked(self._world, common, git, *add)
        return tree

    async def seal(self, tree: Tree) -> Sealed:
        """Step 3."""
        git, common = Git(tree.folder), await common_folder(self._repository)
        head = await git("rev-parse", "--verify", "HEAD^{commit}")
        index = Path(await git("rev-parse", "--path-format=absolute", "--git-dir")) / f"flowli-seal-{os.getpid()}.index"
        own = Git(tree.folder, {"GIT_INDEX_FILE": str(index)})
        try:
            await own("read-tree", head)
            await own("add", "--all", "--", ".")
            left = await own("write-tree")
        finally:
            index.unlink(missing_ok=True)
        if left != await git("rev-parse", f"{head}^{{tree}}"):
            head = await git("commit-tree", "-p", head, "-m", f"What {tree.attempt} left uncommitted", left)
        async with locked(self._world, common):
            await again_while_locked(self._world, common, git, "update-ref", f"refs/heads/{tree.branch}", head)
        said = await git("diff-tree", "-r", "-z", "--no-renames", "--name-status", tree.base, head)
        parts = said.split("\0")
        changes = tuple(zip(parts[0:-1:2], parts[1::2], strict=True))
        return Sealed(head, tuple((status[:1], path) for status, path in changes))

    async def diff(self, tree: Tree, head: str, path: Path) -> None:
        """Write what differs between the base and a commit into a file, as a patch: it may be of any size."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--binary", f"--output={path}")
        await Git(self._repository)("diff", *options, tree.base, head)

    async def put_away(self, tree: Tree) -> PutAway:
        """Step 4."""
        if not tree.folder.is_dir():
            return PutAway(None, "" if not await self._registered(tree) else "its folder is gone")
        try:
            kept = await keep(tree.folder, tree.attempt, ignored=True)
        except (GitFailed, OSError) as error:
            return PutAway(None, f"it could not be kept: {error}")
        if busy(tree.folder):
            return PutAway(kept, "a process works in it")
        if await snapshot(tree.folder, ignored=True) != kept.tree:
            return PutAway(kept, "it changed while it was kept")
        if not self._ignored:
            kept = await keep(tree.folder, tree.attempt, ignored=False)
        common = await common_folder(self._repository)
        try:
            async with locked(self._world, common):
                git = Git(self._repository)
                await again_while_locked(
                    self._world, common, git, "worktree", "remove", "--force", "--force", "--", str(tree.folder)
                )
        except GitFailed as error:
            return PutAway(kept, f"git does not remove it: {error}")
        return PutAway(kept)

    async def leftovers(self) -> list[Tree]:
        """The trees under this root whose owners are dead; what git could not finish of them is repaired.

        A registration without a folder is removed: there is nothing to keep.
        """
        git, common = Git(self._repository), await common_folder(self._repository)
        found: list[Tree] = []
        async with locked(self._world, common):
            repair(common)
            for folder, base in await self._of_dead_owners(git):
                if folder.is_dir():
                    found.append(Tree(folder.name, folder, branch_of(folder.name), base))
                    continue
                await git("worktree", "unlock", "--", str(folder))
                await git("worktree", "prune", "--expire", "now")
        return found

    async def _of_dead_owners(self, git: Git) -> list[tuple[Path, str]]:
        said = await git("worktree", "list", "--porcelain", "-z")
        found: list[tuple[Path, str]] = []
        for block in said.split("\0\0"):
            fields = {name: value for name, _, value in (line.partition(" ") for line in block.split("\0"))}
            folder = Path(fields.get("worktree", ""))
            try:
                owner = json.loads(fields.get("locked", ""))
                identity, base = ProcessIdentity(**owner["runner"]), str(owner["base"])
            except (ValueError, KeyError, TypeError):
                continue  # not of a runner
            if self._root in folder.parents and self._world.is_dead(identity):
                found.append((folder, base))
        return found

    async def _registered(self, tree: Tree) -> bool:
        said = await Git(self._repository)("worktree", "list", "--porcelain", "-z")
        return f"worktree {tree.folder}\0" in said

    async def _exists(self, git: Git, name: str) -> bool:
        code, _, _ = await git.run("show-ref", "--verify", "--quiet", f"refs/heads/{branch_of(name)}")
        return code == 0 or (self._root / name).exists()

    async def _commit(self, git: Git, ref: str) -> str:
        code, out, _ = await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if code:
            raise BadName(f"base_ref {ref!r} names no commit of {self._repository}; push or fetch it there first")
        return out.decode().strip()
