"""Trees, and what is kept of them. Cases K46, K47, K48."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from flowli.world import SYSTEM
from flowli_runner.git.command import Git, GitFailed
from flowli_runner.git.keep import keep, snapshot
from flowli_runner.git.lock import common_folder, locked, repair
from flowli_runner.git.names import BadName, attempt_name, check_ref, kept_ref
from flowli_runner.git.scopes import lease_names, outside
from flowli_runner.git.tree import Trees

from .runner_kit import git, make_repository


@pytest.fixture
def repository(tmp_path) -> Path:
    return make_repository(tmp_path / "repo")


@pytest.fixture
def trees(repository, tmp_path) -> Trees:
    return Trees(repository, tmp_path / "trees", world=SYSTEM)


def at_work(argv: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """A process that stays in a folder until its input ends."""
    return subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def answered(process: subprocess.Popen[bytes], line: bytes) -> bytes:
    """What a process answers to a line; then it is certainly at work."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def shown(repository: Path, ref: str, path: str) -> bytes:
    return subprocess.run(["git", "show", f"{ref}:{path}"], cwd=repository, capture_output=True, check=True).stdout


async def test_every_byte_of_a_tree_is_kept_before_it_goes(repository, trees):
    """K46: modified, staged, untracked, ignored, executable, linked, strange names, a repository inside."""
    tree = await trees.add("a1")
    folder = tree.folder
    (folder / "src/app.py").write_bytes(b"changed\r\n")
    (folder / "new file.txt").write_bytes(b"new\x00\xff")
    (folder / "line\nend").write_bytes(b"odd name")
    (folder / "build").mkdir()
    (folder / "build/out.o").write_bytes(b"ignored bytes")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src/app.py")
    (folder / "staged").write_bytes(b"staged content")
    git(folder, "add", "staged")
    (folder / "staged").write_bytes(b"later content")
    git(folder, "update-index", "--assume-unchanged", "README")
    (folder / "README").write_bytes(b"hidden change")
    make_repository(folder / "inner")
    gone = await trees.put_away(tree)
    assert gone.why_left == ""
    assert not folder.exists()
    ref = kept_ref("a1")
    for path, body in {
        "src/app.py": b"changed\r\n",
        "new file.txt": b"new\x00\xff",
        "line\nend": b"odd name",
        "build/out.o": b"ignored bytes",
        "link": b"src/app.py",
        "staged": b"later content",
        "README": b"hidden change",
        "inner/README": b"read me\n",
        "inner/dot-git~flowli/HEAD": b"ref: refs/heads/main\n",
    }.items():
        assert shown(repository, ref, path) == body, path
    assert shown(repository, f"{ref}^2", "staged") == b"staged content"
    assert git(repository, "ls-tree", ref, "run.sh").startswith("100755")


async def test_commits_that_a_reset_dropped_are_kept(repository, trees):
    """K46."""
    tree = await trees.add("a1")
    (tree.folder / "lost").write_text("lost work")
    git(tree.folder, "add", "lost")
    git(tree.folder, "commit", "-m", "soon lost")
    lost = git(tree.folder, "rev-parse", "HEAD")
    git(tree.folder, "reset", "--hard", "HEAD~1")
    await trees.put_away(tree)
    assert lost in git(repository, "rev-list", kept_ref("a1")).split()


async def test_hooks_signing_and_monitors_of_the_repository_are_not_run(repository, trees, tmp_path):
    """K46, K48: a hook that refuses, a signature that cannot be made, and a monitor that runs a program."""
    canary = tmp_path / "canary"
    for name in ("pre-commit", "post-checkout", "reference-transaction", "post-commit"):
        hook = repository / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {canary}\nexit 1\n")
        hook.chmod(0o755)
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {canary}\n")
    monitor.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(monitor))
    git(repository, "config", "commit.gpgSign", "true")
    git(repository, "config", "gpg.program", "/no/such/gpg")
    tree = await trees.add("a1")
    (tree.folder / "work").write_text("work")
    sealed = await trees.seal(tree)
    assert sealed.changes == (("A", "work"),)
    assert (await trees.put_away(tree)).why_left == ""
    assert shown(repository, kept_ref("a1"), "work") == b"work"
    assert not canary.exists()


async def test_work_is_measured_from_the_recorded_base_also_when_the_agent_commits(repository, trees, tmp_path):
    """K46: committed but not pushed; the head of the tree is not the base."""
    tree = await trees.add("a1")
    (tree.folder / "one").write_text("1")
    git(tree.folder, "add", "one")
    git(tree.folder, "commit", "-m", "one")
    (tree.folder / "two").write_text("2")
    (tree.folder / "README").unlink()
    sealed = await trees.seal(tree)
    assert set(sealed.changes) == {("A", "one"), ("A", "two"), ("D", "README")}
    assert git(repository, "rev-parse", tree.branch) == sealed.head
    assert (await trees.seal(tree)) == sealed
    await trees.diff(tree, sealed.head, tmp_path / "diff")
    assert b"+2" in (tmp_path / "diff").read_bytes()


async def test_a_tree_in_which_somebody_works_stays_and_is_told(repository, trees):
    """K46."""
    tree = await trees.add("a1")
    (tree.folder / "work").write_text("work")
    with at_work([sys.executable, "-c", "print(input(), flush=True); input()"], tree.folder) as inside:
        answered(inside, b"here")
        gone = await trees.put_away(tree)
        inside.communicate(b"\n")
    assert gone.why_left == "a process works in it"
    assert gone.kept is not None
    assert (tree.folder / "work").read_text() == "work"
    assert (await trees.put_away(tree)).why_left == ""


async def test_a_tree_that_cannot_be_kept_stays(repository, trees, monkeypatch):
    """K46: never removed by force as a fallback."""
    tree = await trees.add("a1")
    (tree.folder / "work").write_text("work")

    async def fails(self, *args, stdin=None):
        raise GitFailed(args[0], "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Git, "__call__", fails)
        gone = await trees.put_away(tree)
    assert "the disk is full" in gone.why_left
    assert (tree.folder / "work").read_text() == "work"


async def test_ignored_files_are_left_out_only_where_that_is_configured(repository, tmp_path):
    trees = Trees(repository, tmp_path / "trees", world=SYSTEM, ignored=False)
    tree = await trees.add("a1")
    (tree.folder / "build").mkdir()
    (tree.folder / "build/out.o").write_text("ignored")
    (tree.folder / "new").write_text("new")
    assert (await trees.put_away(tree)).why_left == ""
    assert git(repository, "ls-tree", "-r", "--name-only", kept_ref("a1")).split() == [
        ".gitignore",
        "README",
        "new",
        "src/app.py",
    ]


async def test_one_attempt_asked_for_twice_has_two_trees(trees):
    """K47."""
    first, second = await asyncio.gather(trees.add("a1"), trees.add("a1"))
    assert {first.attempt, second.attempt} == {"a1", "a1.2"}
    assert first.folder != second.folder


async def test_many_at_once_on_one_repository_get_a_tree_each(repository, trees):
    """K47."""
    found = await asyncio.gather(*(trees.add("same") for _ in range(8)))
    assert len({one.folder for one in found}) == 8
    gone = await asyncio.gather(*(trees.put_away(one) for one in found))
    assert [one.why_left for one in gone] == [""] * 8


def plant_dead_owner(repository: Path, attempt: str) -> None:
    """Make the owner of a tree one that has ended."""
    identity = replace(SYSTEM.process(), pid=2**22 + 1, started="1")
    reason = json.loads((repository / ".git/worktrees" / attempt / "locked").read_text())
    reason["runner"] = asdict(identity)
    (repository / ".git/worktrees" / attempt / "locked").write_text(json.dumps(reason))


async def test_what_dead_owners_left_is_found_and_repaired_and_the_living_are_left_alone(repository, trees):
    """K47: a stale lock in a tree, a registration without a folder, a lock of the repository."""
    dead, missing, living = await trees.add("dead"), await trees.add("missing"), await trees.add("living")
    for one in (dead, missing):
        plant_dead_owner(repository, one.attempt)
    (repository / ".git/worktrees/dead/index.lock").touch()
    (repository / ".git/config.lock").touch()
    shutil.rmtree(missing.folder)
    assert [one.attempt for one in await trees.leftovers()] == ["dead"]
    assert not (repository / ".git/worktrees/dead/index.lock").exists()
    assert not (repository / ".git/config.lock").exists()
    assert not (repository / ".git/worktrees/missing").exists()
    assert living.folder.is_dir()
    (left,) = await trees.leftovers()
    assert (left.base, left.branch) == (dead.base, dead.branch)
    assert (await trees.put_away(left)).why_left == ""
    assert await trees.leftovers() == []


async def test_a_stale_lock_does_not_stop_a_new_tree(repository, trees):
    """K47."""
    (repository / ".git/refs/heads/flowli").mkdir()
    (repository / ".git/refs/heads/flowli/a1.lock").touch()
    assert (await trees.add("a1")).folder.is_dir()


async def test_the_lock_of_a_living_git_is_left_alone(repository):
    """K47."""
    lock = repository / ".git/config.lock"
    common = await common_folder(repository)
    lock.touch()
    with at_work(["git", "cat-file", "--batch"], repository) as living:
        answered(living, b"none")  # before its first answer the kernel may still call it by the name of its parent
        async with locked(SYSTEM, common):
            assert repair(common) == []
        living.communicate()
    assert repair(common) == [str(lock)]


BAD = [
    "--upload-pack=touch canary",
    "-f",
    "ext::sh -c touch canary",
    "https://example.org/x",
    "a..b",
    "a//b",
    "a\nb",
    "",
    "x.lock",
    "a/-b",
    "HEAD:README",
    "@{-1}",
    "a b",
    "file:///etc",
]


@pytest.mark.parametrize("name", BAD)
async def test_names_that_git_reads_as_something_else_are_refused(trees, repository, monkeypatch, name):
    """K48."""
    started = []

    async def spy(self, *args, stdin=None):
        started.append(args)
        return 0, os.fsencode(repository / ".git"), ""

    monkeypatch.setattr(Git, "run", spy)
    with pytest.raises(BadName, match="base_ref"):
        await trees.add("a1", name)
    assert not [args for args in started if name and name in args]


@pytest.mark.parametrize("name", ["main", "HEAD", "v1.2.3", "refs/heads/main", "feature/x_y-z", "0123abcd"])
def test_plain_names_are_let_through(name):
    assert check_ref(name) == name


async def test_a_base_that_is_not_there_is_named(trees):
    with pytest.raises(BadName, match="'nowhere' names no commit"):
        await trees.add("a1", "nowhere")


def test_git_is_told_to_use_no_protocol_and_nothing_of_the_environment(monkeypatch):
    """K48, K49."""
    monkeypatch.setenv("GIT_SSH_COMMAND", "touch canary")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GITHUB_TOKEN", "canary")
    made = Git(Path("."))
    assert set(made.environment()) <= {
        *("PATH", "HOME", "TMPDIR", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"),
        *("GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL", "GIT_EDITOR", "LC_ALL"),
    }
    argv = made.argv("status")
    assert argv[-1] == "status"
    assert {"core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never"} <= set(argv)


def test_attempts_have_derived_names():
    one = attempt_name("DELEGATE:0190:root/add-tests#1", 2)
    assert one == attempt_name("DELEGATE:0190:root/add-tests#1", 2)
    assert one.startswith("add-tests-1-")
    assert one.endswith("-2")
    assert check_ref(f"flowli/{attempt_name('--exec=x', 1)}")


@pytest.mark.parametrize(
    ("scope", "inside", "out"),
    [
        ("src/**", ["src/a", "src/a/b"], ["srcs/a", "a/src/b"]),
        ("src", ["src", "src/a/b"], ["srcs"]),
        ("*.md", ["a.md"], ["a/b.md"]),
        ("**/*.md", ["a.md", "a/b.md"], ["a.mdx"]),
        ("a/?.py", ["a/b.py"], ["a/bc.py", "a//.py"]),
        ("a.b", ["a.b"], ["axb"]),
        ("**", ["anything/at all", "line\nend"], []),
    ],
)
def test_a_scope_allows_what_it_says(scope, inside, out):
    assert outside([*inside, *out], [scope]) == tuple(out)
    assert outside(inside, []) == tuple(inside)


def test_scopes_that_can_meet_share_a_lease_and_are_taken_in_order():
    every = lease_names("r", ["**"])
    assert list(every) == sorted(every)
    assert set(lease_names("r", ["src/**"])) <= set(every)
    assert lease_names("r", ["src/a.py"]) == lease_names("r", ["src/**"])
    assert lease_names("r", []) == ()


async def test_a_snapshot_is_the_same_for_the_same_bytes(trees):
    tree = await trees.add("a1")
    first = await snapshot(tree.folder)
    assert await snapshot(tree.folder) == first
    (tree.folder / "x").write_text("x")
    assert (await keep(tree.folder, "a1")).tree != first
