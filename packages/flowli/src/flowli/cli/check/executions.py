"""One execution: its journal is one history, and record, archive and control log agree with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flowli.adapters.cairndb.records import journal_entries
from flowli.cairn.errors import CairnError
from flowli.cli.check.contents import Contents
from flowli.cli.check.finding import Finding, found
from flowli.cli.check.logs import LogLooked
from flowli.domain import keys
from flowli.domain.entries import JournalEntry
from flowli.domain.errors import BackendError, InvalidValue
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import ArchivedExecution, Lease, Ports
from flowli.domain.provenance import ActorKind
from flowli.runtime.control_fold import ControlFold

__all__ = ["Looked", "look_at_execution"]

_UNSAFE = "Look at it with flowli journal; flowli fork goes on from a frame before the damage."


@dataclass(slots=True)
class Looked:
    """What the bucket says of one execution.

    Attributes:
        whole: the journal could be read from its beginning to its end.
    """

    eid: Eid
    record: Execution | None = None
    archived: ArchivedExecution | None = None
    entries: tuple[JournalEntry, ...] = ()
    fold: JournalFold = field(default_factory=JournalFold)
    lease: Lease | None = None
    whole: bool = True
    findings: list[Finding] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether it has ended, by its journal or its archive."""
        return self.fold.end is not None or self.archived is not None

    def add(self, check: str, problem: str, evidence: tuple[str, ...] = (), advice: str = "") -> None:
        """Note what does not hold."""
        self.findings.append(found(check, self.eid, problem, evidence, advice))


async def look_at_execution(ports: Ports, contents: Contents, eid: Eid, log: LogLooked, control: ControlFold) -> Looked:
    """Read all that the bucket says of an execution, and compare."""
    looked = Looked(eid, whole=not log.findings)
    await _read(ports, contents, looked, log)
    _judge_history(looked)
    _judge_owners(looked)
    _judge_copies(looked)
    _judge_control(looked, control)
    return looked


async def _read(ports: Ports, contents: Contents, looked: Looked, log: LogLooked) -> None:
    eid = looked.eid
    try:
        looked.entries = tuple(entry for commit in log.commits for entry in journal_entries([commit]))
    except (CairnError, InvalidValue, KeyError, TypeError, ValueError) as error:
        looked.whole = False
        looked.add("readable", f"an entry of its journal cannot be read: {error}", (f"logs/{keys.journal_log(eid)}/",))
    looked.fold = JournalFold(looked.entries)
    for key, read in ((keys.meta(eid), _record), (keys.archive(eid), _archive), (keys.lease(eid), _lease)):
        if key in contents.keys or contents.under(key):
            try:
                await read(ports, looked)
            except (BackendError, InvalidValue) as error:
                looked.whole = False
                looked.add("readable", f"{key} cannot be read: {error}", (key,))


async def _record(ports: Ports, looked: Looked) -> None:
    looked.record = await ports.executions.get(looked.eid)


async def _archive(ports: Ports, looked: Looked) -> None:
    looked.archived = await ports.archive.get(looked.eid)


async def _lease(ports: Ports, looked: Looked) -> None:
    looked.lease = await ports.ownership.read(looked.eid)


def _judge_history(looked: Looked) -> None:
    for anomaly in looked.fold.anomalies:
        if looked.whole:
            key = f"logs/{keys.journal_log(looked.eid)}/"
            looked.add("journal", anomaly.problem, (key, f"entry {anomaly.seq}"), _UNSAFE)


def _judge_owners(looked: Looked) -> None:
    """What a request asked for is journaled with who asked; all else of an epoch comes from its one owner."""
    owners: dict[int, dict[str, int]] = {}
    for entry in looked.entries:
        site = entry.by.site
        if entry.by.actor.kind is not ActorKind.WORKER:
            continue
        owners.setdefault(site.epoch, {}).setdefault(f"{site.worker_id} ({site.instance or site.pid})", entry.seq)
    for epoch, sites in owners.items():
        if epoch > 0 and len(sites) > 1:
            told = f"epoch {epoch} has entries of {' and of '.join(sites)}"
            looked.add("owner", told, tuple(f"entry {seq}" for seq in sites.values()), _UNSAFE)


def _judge_copies(looked: Looked) -> None:
    eid, started = looked.eid, looked.fold.execution
    if looked.entries and looked.record is None and looked.archived is None and looked.whole:
        looked.add("record", "it has a journal, and neither record nor archive", (keys.meta(eid), "entry 1"))
    if looked.record is not None and started is not None and _plain(looked.record) != _plain(started):
        told = "its record says something else than execution.started"
        looked.add("same", told, (keys.meta(eid), "entry 1"), "Find out what else writes to this bucket.")
    archived = looked.archived
    if archived is not None and looked.entries and looked.entries[0].seq == 1:
        same = archived.entries[: len(looked.entries)] == looked.entries[: len(archived.entries)]
        erased = JournalFold(archived.entries).erased
        if not erased and (not same or looked.fold.seq > len(archived.entries)):
            told = f"its archive of {len(archived.entries)} entries is not its journal of {looked.fold.seq}"
            looked.add("same", told, (keys.archive(eid),), "Do not run retention; keep a copy of the bucket.")


def _plain(execution: Execution) -> Execution:
    """The record as migrate leaves it alone."""
    return replace(execution, version="", more=None)


def _judge_control(looked: Looked, control: ControlFold) -> None:
    known = control.executions.get(looked.eid)
    if looked.archived is not None or not looked.whole:
        return
    if known is None or not known.workflow:
        if looked.record is not None:
            looked.add("announced", "the control log does not know it", (keys.meta(looked.eid),))
    elif looked.fold.seq and known.status is not looked.fold.status:
        told = f"the control log says that it is {known.status}, its journal that it is {looked.fold.status}"
        evidence = (f"entry {looked.fold.lifecycle_seq}", f"last twin: of entry {known.journal_seq}")
        looked.add("announced", told, evidence)
