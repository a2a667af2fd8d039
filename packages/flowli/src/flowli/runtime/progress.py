"""Progress that long steps report by ``flowli.heartbeat``, where operators and later attempts find it.

That of a step which runs beside its workflow stands in the state of the execution's lease; that of a detached one in
the state of a lease of its own. Both are written when the lease of whoever runs the step is renewed, if there is
something new: progress costs no request of its own while it stands in the execution's lease, and one per renewal else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import InvalidValue
from flowli.domain.ids import Eid, Fid, frame_hash, role_eid
from flowli.timestamp import Timestamp

__all__ = ["Progress", "in_state", "of_state", "progress_eid"]

_NAME = "progress"


@dataclass(frozen=True, slots=True)
class Progress:
    """What a step said last.

    Attributes:
        attempt: that said it.
        value: plain data.
        at: when, by the clock of the worker.
    """

    fid: Fid
    attempt: int
    value: Data
    at: Timestamp


def in_state(state: Mapping[str, Data], said: Mapping[Fid, Progress]) -> dict[str, Data]:
    """The state of a lease with progress in it."""
    rest: dict[str, Data] = {name: value for name, value in state.items() if name != _NAME}
    return {**rest, _NAME: [codec.dump(one) for one in said.values()]} if said else rest


def of_state(state: Data) -> dict[Fid, Progress]:
    """The progress in the state of a lease; what cannot be read is left out."""
    found = state.get(_NAME) if isinstance(state, dict) else None
    said: dict[Fid, Progress] = {}
    for data in found if isinstance(found, list) else []:
        try:
            one = codec.load(Progress, data)
        except InvalidValue:  # of another release; it is only shown
            continue
        said[one.fid] = one
    return said


def progress_eid(eid: Eid, fid: Fid) -> Eid:
    """The synthetic id of the lease in which a detached step shows its progress."""
    return role_eid(f"flowli:step:{eid}:{frame_hash(fid)}")
