"""``story``: a failing run as a short story: who did what, in order, and what was wrong in the end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowli.testing.sim.cluster import Cluster
from flowli.testing.sim.network import Operation

__all__ = ["story"]

_UUID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_QUIET = ("wf/probe/", "wf/layout")


def story(cluster: Cluster, problems: list[str], *, reads: bool = False) -> str:
    """The story of a run.

    Args:
        reads: tell of reads and listings as well, not only of what changed something or carried a fault.
    """
    lines = [f"the workload '{cluster.workload.name}', seed {cluster.seed}"]
    told = sorted(_told(cluster, reads), key=lambda line: line[0])
    lines += [f"{at_s - 1000.0:9.3f} s  {who:<12} {_UUID.sub(_short, what)}" for at_s, who, what in told]
    lines += ["in the end:"] + [f"  {_UUID.sub(_short, problem)}" for problem in problems]
    return "\n".join(lines)


def _told(cluster: Cluster, reads: bool) -> Iterator[tuple[float, str, str]]:
    yield from cluster.notes
    for effect in cluster.ledger.effects:
        yield effect.at_s, effect.node, f"step {effect.fid} (attempt {effect.attempt}) does: {effect.note}"
    for operation in cluster.bucket.operations:
        quiet = operation.key.startswith(_QUIET) or not (operation.write or reads)
        if operation.fault is not None or not quiet:
            yield operation.at_s, operation.node, _sentence(operation)


def _sentence(operation: Operation) -> str:
    sentence = f"#{operation.number} {operation.verb} {operation.key}"
    if operation.fault is not None:
        sentence += f"  << {operation.fault}"
    if operation.applied_s is None and operation.write:
        sentence += ", never applied"
    return f"{sentence} -> {operation.outcome or 'no answer'}"


def _short(found: re.Match[str]) -> str:
    return found.group(1)
