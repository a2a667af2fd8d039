"""What must hold whatever happened. Safety is S1 to S10, liveness L1 to L3; each problem names its invariant.

The judge reads what is shared with the readers of the adapters, without the engine.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from flowli.domain.entries import (
    ExecutionCompleted,
    ExecutionFailed,
    FrameCompleted,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
    JournalEntry,
)
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports
from flowli.domain.waits import OnChannel
from flowli.runtime.control_fold import ControlFold

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster

__all__ = ["ended", "journal_of", "judge", "leftovers", "set_aside", "standing"]

_USER_ERRORS = ("StepFailed", "ChildFailed")
_PATIENCE_OPERATIONS_PER_S, _MOST_OPERATIONS = 60.0, 15_000


def judge(cluster: Cluster) -> list[str]:
    """Everything that is wrong after a run."""
    problems: list[str] = []
    problems += [f"S1: the client was told {failure}" for failure in cluster.memory.get("failures", ())]
    for eid in cluster.bucket.executions():
        problems += _judge_journal(cluster, eid)
    for eid in cluster.expected:
        problems += _judge_result(cluster, eid)
    problems += _judge_control(cluster)
    problems += leftovers(cluster)
    problems += _judge_requests(cluster)
    for problem in cluster.loop.problems:
        if "was destroyed" in str(problem.get("message")):
            continue  # of a coroutine that was dropped from memory
        problems.append(f"E: nobody handled {problem.get('exception') or problem.get('message')!r}")
    return problems + cluster.workload.check(cluster)


def ended(cluster: Cluster, eid: Eid) -> bool:
    """Whether a terminal entry of ``eid`` is in the bucket."""
    return JournalFold(journal_of(cluster, eid)).end is not None


def set_aside(cluster: Cluster, eid: Eid) -> bool:
    """Whether ``eid`` rightly waits on the operator: five workers died over it."""
    parked = JournalFold(journal_of(cluster, eid)).parked
    died = sum(1 for _, who, what in cluster.notes if who.startswith("worker") and what == "is killed")
    return parked is not None and parked.cause == "dead_letter" and died + len(cluster.struck) >= 5


def standing(cluster: Cluster, eid: Eid) -> str:
    """Where an execution stands, for messages."""
    fold = JournalFold(journal_of(cluster, eid))
    return f"{fold.status} at entry {fold.seq}, waits on {fold.suspended.on if fold.suspended else 'nothing'}"


def journal_of(cluster: Cluster, eid: Eid) -> tuple[JournalEntry, ...]:
    """The journal of an execution as it stands in the bucket; its archive's if it was retired."""
    state = cluster.bucket.journal_state(eid)
    known = cluster.memory.get(f"journal:{eid}")
    if known is not None and state is not None and known[0] == state:
        return known[1]  # type: ignore[no-any-return]

    async def read(ports: Ports) -> tuple[JournalEntry, ...]:
        found = (await ports.journal.read(eid)).entries
        if not found and (archived := await ports.archive.get(eid)) is not None:
            return archived.entries
        return found

    entries = cluster.bucket.read(read)
    cluster.memory[f"journal:{eid}"] = (state, entries)
    return entries


def _judge_journal(cluster: Cluster, eid: Eid) -> list[str]:
    entries = journal_of(cluster, eid)
    fold = JournalFold(entries)
    problems = [f"S2/S3: journal of {eid}: entry {anomaly.seq}: {anomaly.problem}" for anomaly in fold.anomalies]
    epoch = 0
    for entry in entries:
        if entry.by.site.epoch < epoch:
            problems.append(f"S2: journal of {eid}: epoch {entry.by.site.epoch} after {epoch} at entry {entry.seq}")
        epoch = max(epoch, entry.by.site.epoch)
    owners: dict[int, set[str]] = {}
    for entry in entries:
        owners.setdefault(entry.by.site.epoch, set()).add(f"{entry.by.site.worker_id}/{entry.by.site.instance}")
    for epoch, sites in owners.items():
        if len(sites) > 1 and epoch > 0 and len({site for site in sites if site.startswith("worker")}) > 1:
            problems.append(f"S10: journal of {eid}: epoch {epoch} has entries of {sorted(sites)}")
    failed = fold.end.error if isinstance(fold.end, ExecutionFailed) else None
    if failed is not None and failed.type.startswith("flowli.") and not failed.type.endswith(_USER_ERRORS):
        problems.append(f"S8: execution {eid} failed with {failed}")
    taken = Counter(
        (entry.body.on.channel, entry.body.message_seq)
        for entry in entries
        if isinstance(entry.body, FrameFulfilled) and isinstance(entry.body.on, OnChannel)
    )
    problems += [f"S6: {eid} received message {key} {n} times" for key, n in taken.items() if n > 1]
    return problems + _judge_effects(cluster, eid, entries)


def _judge_effects(cluster: Cluster, eid: Eid, entries: tuple[JournalEntry, ...]) -> list[str]:
    """What steps did outside, against what was durable then.

    No step starts once its outcome is durable. None starts before every outcome is durable that its code had seen. And
    once the owner of an epoch has had an effect, no commit of a lower epoch lands any more.
    """
    problems: list[str] = []
    durable = cluster.bucket.durable_instants(eid)
    last_outcome = 0.0
    for entry in entries:
        body, at_s = entry.body, durable.get(entry.seq, 0.0)
        if isinstance(body, FrameStarted) and body.attempt == 1:
            early = [e for e in cluster.ledger.of(eid, body.fid) if e.at_s < last_outcome - 1e-6]
            if early:
                problems.append(
                    f"S5: step {body.fid} of {eid} ran at {early[0].at_s:.3f}s, and what its code had seen was durable "
                    f"at {last_outcome:.3f}s"
                )
        if isinstance(body, FrameCompleted):
            late = [e for e in cluster.ledger.of(eid, body.fid) if e.starts and at_s and e.at_s > at_s + 1e-6]
            if late:
                problems.append(f"S7: step {body.fid} of {eid} ran again at {late[0].at_s:.3f}s on {late[0].node}")
        if isinstance(body, FrameCompleted | FrameFailed):
            last_outcome = max(last_outcome, at_s)
    for effect in cluster.ledger.effects:
        if effect.eid == eid:
            fenced = [e for e in entries if e.by.site.epoch < effect.epoch and durable.get(e.seq, 0.0) > effect.at_s]
            if fenced:
                problems.append(
                    f"S10: entry {fenced[0].seq} of epoch {fenced[0].by.site.epoch} of {eid} landed after step "
                    f"{effect.fid} had begun under epoch {effect.epoch}"
                )
                break
    return problems


def _judge_result(cluster: Cluster, eid: Eid) -> list[str]:
    expected = cluster.expected[eid]
    fold = JournalFold(journal_of(cluster, eid))
    if fold.end is None:
        if not fold.seq and not expected.waiting:
            return [f"S1: execution {eid} was acknowledged and has no journal"]
        return []
    if fold.status.value not in expected.statuses:
        return [f"S3: execution {eid} is {fold.status}, not {' or '.join(expected.statuses)}: {fold.end}"]
    if isinstance(fold.end, ExecutionCompleted) and expected.values and fold.end.value not in expected.values:
        return [f"S4: execution {eid} returned {fold.end.value!r}, not {expected.values!r}"]
    return []


def _judge_control(cluster: Cluster) -> list[str]:
    """The control log says of every execution what its journal says."""

    async def read(ports: Ports) -> dict[Eid, str]:
        fold = ControlFold()
        await fold.catch_up(ports.control)
        return {eid: str(known.status) for eid, known in fold.executions.items()}

    known = cluster.bucket.read(read)
    problems = []
    for eid in cluster.bucket.executions():
        fold = JournalFold(journal_of(cluster, eid))
        if fold.end is not None and eid in known and known[eid] != str(fold.status):
            problems.append(f"S3: the control log says that {eid} is {known[eid]}, its journal {fold.status}")
    return problems


def leftovers(cluster: Cluster) -> list[str]:
    """Of executions that have ended no task or marker is left; a timer may be left to fire for nothing."""
    received_on = {}
    for eid in cluster.expected:
        fold = JournalFold(journal_of(cluster, eid))
        received_on[eid] = None if fold.end is None else fold.received_on()
    return [f"L2: {one} is left of an execution that has ended" for one in cluster.bucket.left_of(received_on)]


def _judge_requests(cluster: Cluster) -> list[str]:
    made, seconds = len(cluster.bucket.operations), cluster.loop.time() - 1000.0
    rate = made / max(seconds, 30.0)
    wild = rate > _PATIENCE_OPERATIONS_PER_S or made > _MOST_OPERATIONS
    return [f"L3: {made} requests in {seconds:.0f} virtual seconds"] if wild else []
