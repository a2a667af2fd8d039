"""The document of a task: ``{task, epoch, holder, ttl_s, state, deaths}``. Its lease stands in it, on the same key."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import cast

import orjson

from flowli.cairn.lease_doc import LeaseDoc
from flowli.cairn.objects import Doc
from flowli.cairn.values import JSON
from flowli.codec import dump, load
from flowli.domain.tasks import DeadTask, Task, TaskLease, TaskView
from flowli.timestamp import Timestamp
from flowli.world import ProcessIdentity, World

__all__ = [
    "TaskToken",
    "dead_body",
    "dead_of",
    "fresh_body",
    "given_back",
    "holder_of",
    "not_before_of",
    "process_body",
    "process_of",
    "taken_body",
    "task_lease",
    "task_of",
    "taking_of",
    "view_of",
]

_NOT_BEFORE = "not_before"
_IDENTITY = ("host", "pid", "boot_id", "pid_namespace", "started")


@dataclass(frozen=True, slots=True)
class TaskToken:
    """What a ``TaskLease`` carries.

    Attributes:
        version: of the document as it was last written by the holder.
        taking: drawn when the task was taken: tells this lease from any other that ever was on the key.
    """

    version: str
    taking: str

    @classmethod
    def parse(cls, text: str) -> TaskToken:
        """Read ``str`` of a token; an empty one names no state."""
        version, taking = orjson.loads(text) if text else ("", "")
        return cls(version, taking)

    def __str__(self) -> str:
        return orjson.dumps([self.version, self.taking]).decode()


def fresh_body(task: Task) -> dict[str, JSON]:
    """A task that nobody ever held."""
    return {"task": dump(task), "epoch": 0, "holder": None, "ttl_s": 0, "state": {}, "deaths": 0}


def holder_of(holder: str, world: World, taking: str) -> dict[str, JSON]:
    """Who holds a task: its name, its process and the taking."""
    return {"id": holder, "taking": taking, "process": process_body(world.process())}


@lru_cache(maxsize=16)
def process_body(process: ProcessIdentity) -> dict[str, JSON]:
    """A process as leases name it. The result is shared: write it, do not change it."""
    return cast("dict[str, JSON]", asdict(process))


def task_of(doc: Doc) -> Task:
    """The task in a document."""
    return load(Task, doc.body["task"])


def taking_of(lease: LeaseDoc) -> str | None:
    """The taking under which a task is held; None while nobody holds it."""
    return None if lease.holder is None else str(lease.holder.get("taking", ""))


def process_of(lease: LeaseDoc) -> ProcessIdentity | None:
    """The process that holds a task."""
    process = None if lease.holder is None else lease.holder.get("process")
    if not isinstance(process, dict):
        return None
    return ProcessIdentity(**{name: process[name] for name in _IDENTITY if name in process})  # type: ignore[arg-type]


def not_before_of(lease: LeaseDoc) -> Timestamp | None:
    """Until when a task that was given back may not be taken."""
    text = lease.state.get(_NOT_BEFORE)
    return Timestamp.parse(text) if isinstance(text, str) else None


def taken_body(lease: LeaseDoc, holder: dict[str, JSON], ttl_s: float, *, died: bool) -> dict[str, JSON]:
    """The body of a task that is taken; ``died``: from a holder that vanished."""
    return {
        **lease.doc.body,
        "epoch": lease.epoch + 1,
        "holder": holder,
        "ttl_s": ttl_s,
        "state": {},
        "deaths": lease.deaths + died,
    }


def given_back(lease: LeaseDoc, not_before: Timestamp | None, *, alive: bool) -> dict[str, JSON]:
    """The body of a task that its holder gives back."""
    state: dict[str, JSON] = {} if not_before is None else {_NOT_BEFORE: str(not_before)}
    return {**lease.doc.body, "holder": None, "state": state, "deaths": 0 if alive else lease.deaths}


def task_lease(lease: LeaseDoc) -> TaskLease:
    """A held task as the port hands it out."""
    holder = lease.holder or {}
    token = TaskToken(lease.version, taking_of(lease) or "")
    return TaskLease(task_of(lease.doc), str(holder.get("id", "")), lease.epoch, lease.ttl_s, lease.deaths, str(token))


def view_of(lease: LeaseDoc, *, delayed: bool) -> TaskView:
    """A task as a listing shows it."""
    holder = None if lease.holder is None else str(lease.holder.get("id", ""))
    return TaskView(task_of(lease.doc), holder, lease.epoch, lease.deaths, delayed)


def dead_body(task: Task, cause: str, deaths: int, at: Timestamp) -> dict[str, JSON]:
    """A task that is set aside."""
    return {"task": dump(task), "cause": cause, "deaths": deaths, "died_at": str(at)}


def dead_of(doc: Doc) -> DeadTask:
    """The task that was set aside in a document."""
    body = doc.body
    return DeadTask(
        task_of(doc), str(body["cause"]), cast("int", body["deaths"]), Timestamp.parse(str(body["died_at"]))
    )
