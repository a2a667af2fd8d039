"""An application's own workflows as a workload: what they return without faults they must return under any of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flowli.domain.data import Data
from flowli.domain.entries import ExecutionCompleted
from flowli.domain.memo import JournalFold
from flowli.runtime import Registry
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.fleet import Client

__all__ = ["application_workload"]

_NAME = "app"


def application_workload(registry: Registry, starts: Sequence[tuple[str, Sequence[Data]]]) -> Workload:
    """A workload that starts workflows of ``registry``.

    Its steps run for real, on virtual time: give them clients that are not of the outside world.

    Args:
        starts: name and arguments of each execution.

    Raises:
        AssertionError: something is violated without any fault.
    """
    from flowli.testing.sim.invariants import journal_of
    from flowli.testing.sim.modes import Case, run_case

    any_end = Expected(statuses=("completed", "failed", "cancelled"), waiting=True)
    first = _workload(registry, starts, [any_end] * len(starts))
    outcome, cluster = run_case(Case(_NAME), {_NAME: first})
    if outcome.problems:
        raise AssertionError(f"without any fault: {outcome.problems[0]}")
    ends = [JournalFold(journal_of(cluster, eid)) for eid in cluster.memory["started"].values()]
    return _workload(registry, starts, [_expected(fold) for fold in ends])


def _expected(fold: JournalFold) -> Expected:
    if fold.end is None:
        return Expected(statuses=("completed", "failed", "cancelled"), waiting=True)
    values = (fold.end.value,) if isinstance(fold.end, ExecutionCompleted) else ()
    return Expected(values, (fold.status.value,))


def _workload(
    registry: Registry, starts: Sequence[tuple[str, Sequence[Data]]], expected: Sequence[Expected]
) -> Workload:
    async def drive(client: Client) -> None:
        started = client.cluster.memory.setdefault("started", {})
        for number, (name, args) in enumerate(starts):
            start = functools.partial(client.engine.start, name, *args, key=f"sim-{number}")
            started[number] = await client.again(start)
            client.expect(started[number], expected[number])

    queues = tuple(sorted({workflow.queue for workflow in registry}))
    return Workload(_NAME, lambda cluster: registry, drive, queues=queues)
