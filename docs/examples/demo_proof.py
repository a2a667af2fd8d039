"""The proof: what the journals say is compared with what happened outside.

Every step of the examples appends one line to the ledger when it succeeds, and nothing else does. So a step whose
completion was in the journal at some moment must have exactly one line, then and for ever. A step that a kill cut off
after its line and before its entry may run again, with the same idempotency key: a step runs at least once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from demo_snapshot import Key, Snapshot

from flowli.domain.frames import FrameStatus


@dataclass(slots=True)
class Proof:
    """What the comparison found.

    Attributes:
        finished_at_kill: how many steps had their completion in a journal when the worker was killed.
        finished: how many have it now.
        rerun: steps that were cut off between effect and entry, and ran again.
        violations: sentences about what must not be; empty if all is well.
    """

    finished_at_kill: int
    finished: int
    rerun: list[Key] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def prove(at_kill: Snapshot, at_end: Snapshot) -> Proof:
    """Compare the two moments."""
    before, now = at_kill.steps(FrameStatus.COMPLETED), at_end.steps(FrameStatus.COMPLETED)
    lines_before, lines = at_kill.effects(), at_end.effects()
    proof = Proof(len(before), len(now))
    wrong = proof.violations
    for key, frame in before.items():
        if lines[key] != 1:
            wrong.append(f"{key[1]} of {key[0]} had finished before the kill and has {lines[key]} lines in the ledger")
        if key not in now or now[key].value != frame.value:
            wrong.append(f"{key[1]} of {key[0]} had finished before the kill and its result is another one now")
    for key in now.keys() - before.keys():
        if lines[key] > 1 and lines_before[key] == 1 and lines[key] == 2:
            proof.rerun.append(key)
        elif lines[key] != 1:
            wrong.append(f"{key[1]} of {key[0]} finished after the kill and has {lines[key]} lines in the ledger")
    if len({(line.eid, line.fid, line.key) for line in at_end.lines}) != len(lines):
        wrong.append("a step that ran again had another idempotency key")
    wrong += [f"{fid} of {eid} has an effect and no completion" for eid, fid in lines.keys() - now.keys()]
    for eid, fold in at_end.folds.items():
        wrong += [f"journal of {eid}, entry {anomaly.seq}: {anomaly.problem}" for anomaly in fold.anomalies]
        if fold.end is None:
            wrong.append(f"{eid} has not ended")
    return proof
