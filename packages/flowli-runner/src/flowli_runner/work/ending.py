"""Ending work that nobody goes on with: by the handle that its runner wrote down, and by the mark of its processes."""

from __future__ import annotations

import json

from flowli_runner.agents import Running
from flowli_runner.contracts import Envelope
from flowli_runner.process.handle import kill_marked
from flowli_runner.process.launch import reattach
from flowli_runner.work.means import Means
from flowli_runner.work.records import Record

__all__ = ["end_work"]


async def end_work(means: Means, record: Record) -> None:
    """End what is left of an attempt; returns when it has ended."""
    running = _reached(means, record) if record.handle else None
    if running is not None:
        await running.stop()
    kill_marked(record.attempt)


def _reached(means: Means, record: Record) -> Running | None:
    handle = json.loads(record.handle)
    if record.agent not in means.agents:  # the configuration has changed since
        return reattach(means.world, handle)
    job = means.jobs.again(record.attempt, record.tree, record.agent, Envelope("the work of an earlier runner"))
    return means.agents[record.agent].attach(job, handle)
