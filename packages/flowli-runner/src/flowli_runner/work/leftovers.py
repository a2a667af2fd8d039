"""What dead runners left on this host: work that nobody asks for any more is ended, its bytes kept, its record removed.

Work whose task still stands in the queue is left alone: whoever takes the task goes on with it.
"""

from __future__ import annotations

import structlog

from flowli_runner.process.handle import kill_marked
from flowli_runner.work.ending import end_work
from flowli_runner.work.means import Means
from flowli_runner.work.records import Record

__all__ = ["put_leftovers_away"]

_log = structlog.get_logger("flowli.runner")


async def put_leftovers_away(means: Means) -> int:
    """Look at everything this host holds; called when a runner starts. Returns how many attempts were put away."""
    jobs, trees = means.jobs, means.jobs.trees
    await means.plane.recover()
    owners = {tree.attempt: tree for tree in await trees.leftovers()} if trees is not None else {}
    count = 0
    for attempt, task_id, eid in jobs.attempts():
        record = await means.plane.records.read(task_id)
        mine = record if record is not None and record.attempt == attempt else None
        if await means.plane.stands(task_id, eid):
            continue
        if trees is not None and attempt not in owners and jobs.folder(attempt).exists() and await _lives(means, mine):
            continue
        if mine is None:
            kill_marked(attempt)  # what was written of it is gone, or of a later attempt
        else:
            await end_work(means, mine)
        if trees is not None and attempt in owners:
            gone = await trees.put_away(owners[attempt])
            if gone.why_left:
                _log.warning("a tree stays", folder=str(owners[attempt].folder), why=gone.why_left)
                continue
        await means.plane.records.clear(task_id)
        jobs.forget(task_id)
        count += 1
    known = {attempt for attempt, _, _ in jobs.attempts()}
    for attempt, tree in owners.items():
        # its runner died between making the tree and writing down whose it is
        if trees is not None and attempt not in known and tree.folder.is_dir():
            count += not (await trees.put_away(tree)).why_left
    jobs.forget_strays()
    return count


async def _lives(means: Means, record: Record | None) -> bool:
    """Whether the tree of an attempt is of a runner that lives: it will put it away itself."""
    tree = None if record is None else means.jobs.tree(record)
    return tree is not None and tree.folder.is_dir()
