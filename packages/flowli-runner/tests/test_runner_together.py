"""Processes at work on one repository at once. K47.

``FLOWLI_RUNNER_ROUNDS`` sets the number of rounds (1 by default, at most 20).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from .runner_kit import git, make_repository

ROUNDS = min(20, int(os.environ.get("FLOWLI_RUNNER_ROUNDS", "1")))
PROCESSES = 8
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from flowli.world import SYSTEM
from flowli_runner.git.tree import Trees

async def main(repository, root, me, rounds):
    trees, told = Trees(Path(repository), Path(root), world=SYSTEM), []
    for number in range(int(rounds)):
        tree = await trees.add(f"same-{number}")
        (tree.folder / f"of-{me}").write_text(me)
        sealed = await trees.seal(tree)
        gone = await trees.put_away(tree)
        told.append([tree.attempt, str(tree.folder), sealed.head, gone.why_left, [path for _, path in sealed.changes]])
    print(json.dumps(told))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_eight_processes_that_ask_for_the_same_branch_get_a_tree_each(tmp_path):
    """No lock of git surfaces, though stale ones are planted all the while."""
    repository = make_repository(tmp_path / "repo")
    command = [sys.executable, "-c", PROGRAM, str(repository), str(tmp_path / "trees")]
    started = [
        await asyncio.create_subprocess_exec(
            *command, str(number), str(ROUNDS), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for number in range(PROCESSES)
    ]
    for name in ("packed-refs.lock", "config.lock", "refs/heads/flowli/same-0.lock", "refs/heads/flowli/same-0.2.lock"):
        path = repository / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    ended = await asyncio.gather(*(one.communicate() for one in started))
    assert [(one.returncode, said) for one, (_, said) in zip(started, ended, strict=True)] == [(0, b"")] * PROCESSES
    told = {number: json.loads(out) for number, (out, _) in enumerate(ended)}
    trees = [(number, *one) for number, rounds in told.items() for one in rounds]
    assert len(trees) == PROCESSES * ROUNDS
    for column in (1, 2, 3):  # attempt, folder, commit
        assert len({one[column] for one in trees}) == len(trees)
    for number, attempt, _, head, why_left, paths in trees:
        assert (why_left, paths) == ("", [f"of-{number}"])
        assert git(repository, "rev-parse", f"flowli/{attempt}") == head
        assert git(repository, "show", f"refs/flowli/kept/{attempt}:of-{number}") == str(number)
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert list((repository / ".git").rglob("*.lock")) == []
    assert list((tmp_path / "trees").iterdir()) == []
