"""What dead runners left on this host: work that nobody asks for any more is ended, its bytes kept, its record removed.

Work whose task still stands in the queue is left alone: whoever takes the task goes on with it.
"""

from __future__ import annotations

import json

import structlog

from flowli.domain.ids import parse_eid
from flowli.domain.ports import Ports
from flowli_runner.process.handle import Handle, is_alive
from flowli_runner.process.launch import reattach
from flowli_runner.work.handler import Means
from flowli_runner.work.records import Record

__all__ = ["put_leftovers_away"]

_log = structlog.get_logger("flowli.runner")
_LOOK = 10_000


async def put_leftovers_away(means: Means) -> int:
    """Look at everything this host holds; called when a runner starts. Returns how many attempts were put away."""
    jobs, trees = means.jobs, means.jobs.trees
    owners = {tree.attempt: tree for tree in await trees.leftovers()} if trees is not None else {}
    count = 0
    for attempt, task_id, eid in jobs.attempts():
        record = await means.records.read(task_id)
        mine = record if record is not None and record.attempt == attempt else None
        if means.ports is None or await _stands(means.ports, means.config.queue, eid, task_id):
            continue
        if trees is not None and attempt not in owners and jobs.folder(attempt).exists() and await _lives(means, mine):
            continue
        await _end(means, mine)
        if trees is not None and attempt in owners:
            gone = await trees.put_away(owners[attempt])
            if gone.why_left:
                _log.warning("a tree stays", folder=str(owners[attempt].folder), why=gone.why_left)
                continue
        if mine is not None:
            await means.records.clear(task_id)
        jobs.forget(task_id)
        count += 1
    known = {attempt for attempt, _, _ in jobs.attempts()}
    for attempt, tree in owners.items():
        # its runner died between making the tree and writing down whose it is
        if trees is not None and attempt not in known and tree.folder.is_dir():
            count += not (await trees.put_away(tree)).why_left
    return count


async def _stands(ports: Ports, queue: str, eid: str, task_id: str) -> bool:
    views = await ports.queue.find(queue, parse_eid(eid), limit=_LOOK)
    return any(view.task.task_id == task_id for view in views)


async def _lives(means: Means, record: Record | None) -> bool:
    """Whether the tree of an attempt is of a runner that lives: it will put it away itself."""
    tree = None if record is None else means.jobs.tree(record)
    return tree is not None and tree.folder.is_dir()


async def _end(means: Means, record: Record | None) -> None:
    if record is None or not record.handle:
        return
    data = json.loads(record.handle)
    handle, program = Handle.of(data), reattach(means.world, data)
    if program is not None and handle is not None and is_alive(means.world, handle):
        await program.stop()
