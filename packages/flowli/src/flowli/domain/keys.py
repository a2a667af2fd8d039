"""The key layout: where everything of the engine stands in the bucket. Public and frozen by a test.

======================================================================  ==============================================
key or log                                                              content
======================================================================  ==============================================
``logs/wf/``                                                            the control log
``logs/wf.exec.{eid}/``                                                 the journal of one execution
``logs/wf.ch.{channel}/``                                               the messages of one channel
``wf/exec/{eid}/meta``                                                  the execution record
``wf/exec/{eid}/lease``                                                 the ownership lease
``wf/dispatch/{key}``                                                   the winner of a dispatch key
``wf/claims/{key}``                                                     any other exactly-one decision
``wf/queues/{queue}/ready/{PP}/{instant}/{task_id}``                    a task; its lease is CAS on this same key
``wf/queues/{queue}/delayed/{not_before}/{PP}/{task_id}``               a task that is not yet due
``wf/queues/{queue}/dead/{died_at}/{PP}/{task_id}``                     a task that was set aside
``wf/queues/{queue}/limits/{name}``                                     settings, slots, rate
``wf/waits/{channel}/{eid}``                                            a wait marker
``wf/timers/{timer_id}``                                                a timer, in the order of due times
``wf/archive/{eid}.msgpack``                                            a folded execution
``wf/evidence/{eid}/{frame}.{attempt}.{epoch}/…``                       attempt logs, attachments, detached outcomes
======================================================================  ==============================================

Keys are built from checked parts only. A part that may hold other characters than letters, digits and
``_ - . : @ = + ~`` is escaped one character at a time (``%2F``), so that different names never meet in one key and no
name leaves its prefix.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

from flowli.domain.channels import WaitMarker
from flowli.domain.errors import InvalidName
from flowli.domain.ids import Eid, check_key, check_name, parse_eid
from flowli.domain.tasks import Task
from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp

__all__ = [
    "ARCHIVE",
    "CONTROL_LOG",
    "DELAYED",
    "EVIDENCE",
    "QUEUES",
    "READY",
    "TIMERS",
    "archive",
    "channel_log",
    "claim",
    "dead",
    "dead_prefix",
    "delayed",
    "delayed_instant",
    "delayed_prefix",
    "dispatch",
    "evidence",
    "evidence_name",
    "evidence_prefix",
    "journal_log",
    "kind_prefix",
    "lease",
    "marker",
    "marker_eid",
    "marker_prefix",
    "meta",
    "own_channels",
    "queue_of",
    "rate",
    "ready",
    "ready_prefix",
    "safe_part",
    "same_task",
    "settings",
    "slots",
    "timer",
    "timer_instant",
]

CONTROL_LOG = "wf"
QUEUES = "wf/queues/"
CLAIMS = "wf/claims/"
TIMERS = "wf/timers/"
ARCHIVE = "wf/archive/"
EVIDENCE = "wf/evidence/"
READY, DELAYED, DEAD, LIMITS = "ready", "delayed", "dead", "limits"

_PLAIN = re.compile(r"[A-Za-z0-9_:@=+~-][A-Za-z0-9_.:@=+~-]*", re.ASCII)
_ESCAPED = re.compile(r"[^A-Za-z0-9_.:@=+~-]", re.ASCII)
_CHANNEL = re.compile(r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.)?[A-Za-z0-9_-]{1,128}", re.ASCII)
_LONG = 300


def own_channels(eid: Eid) -> tuple[str, str]:
    """Prefixes of the wait markers and of the logs of all channels that belong to one execution."""
    return f"wf/waits/{eid}.", f"logs/wf.ch.{eid}."


def safe_part(text: str) -> str:
    """``text`` as one part of a key; different texts give different parts, and a beginning gives a beginning.

    Raises:
        InvalidName: it is empty.
    """
    if _PLAIN.fullmatch(text):
        return text
    if not text:
        raise InvalidName("a part of a name is empty: give at least one character between two slashes")
    try:
        escaped = _ESCAPED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), text)
    except UnicodeEncodeError:
        raise InvalidName(f"{text!r} holds half a surrogate pair and cannot be part of a key") from None
    # "." and ".." would be steps in a path
    return f"%2E{escaped[1:]}" if escaped.startswith(".") else escaped


def journal_log(eid: Eid) -> str:
    """Name of the log that is the journal of ``eid``."""
    return f"wf.exec.{eid}"


def channel_log(channel: str) -> str:
    """Name of the log that is ``channel``.

    Raises:
        InvalidName: it is neither a name nor ``{eid}.{name}``.
    """
    return f"wf.ch.{_channel(channel)}"


def meta(eid: Eid) -> str:
    """Key of the execution record."""
    return f"wf/exec/{eid}/meta"


def lease(eid: Eid) -> str:
    """Key of the ownership lease."""
    return f"wf/exec/{eid}/lease"


def dispatch(key: str) -> str:
    """Key of the start claim of a dispatch key."""
    return f"wf/dispatch/{check_key('dispatch key', key)}"


def claim(key: str) -> str:
    """Key of any other claim."""
    return f"{CLAIMS}{check_key('claim key', key)}"


def kind_prefix(queue: str, kind: str) -> str:
    """Prefix of the keys of one kind (``ready``, ``delayed``, ``dead``, ``limits``) of a queue."""
    return f"{QUEUES}{check_name('queue', queue)}/{kind}/"


def ready_prefix(queue: str) -> str:
    """Prefix of the tasks that may be taken."""
    return kind_prefix(queue, READY)


def delayed_prefix(queue: str) -> str:
    """Prefix of the tasks that are not yet due, in the order of their instants."""
    return kind_prefix(queue, DELAYED)


def dead_prefix(queue: str) -> str:
    """Prefix of the tasks that were set aside."""
    return kind_prefix(queue, DEAD)


def ready(task: Task) -> str:
    """Key of a task that may be taken: by priority, then by the instant of the cause."""
    return f"{ready_prefix(task.queue)}{_priority(task)}/{task.cause_at}/{_task_part(task)}"


def delayed(task: Task) -> str:
    """Key of the twin of a task with a ``not_before``."""
    return f"{delayed_prefix(task.queue)}{task.not_before}/{_priority(task)}/{_task_part(task)}"


def dead(task: Task, died_at: Timestamp) -> str:
    """Key of a task that was set aside."""
    return f"{dead_prefix(task.queue)}{died_at}/{_priority(task)}/{_task_part(task)}"


def same_task(key: str, task: Task) -> bool:
    """Whether a key that ``delayed`` or ``dead`` made is that of ``task``."""
    return key.endswith(f"/{_priority(task)}/{_task_part(task)}")


def delayed_instant(queue: str, key: str) -> Timestamp:
    """The ``not_before`` in a key that ``delayed`` made."""
    return Timestamp.parse(key.removeprefix(delayed_prefix(queue)).partition("/")[0])


def settings(queue: str) -> str:
    """Key of what holds for a queue fleet-wide."""
    return f"{kind_prefix(queue, LIMITS)}settings"


def rate(queue: str) -> str:
    """Key of the starts that count against a queue's rate."""
    return f"{kind_prefix(queue, LIMITS)}rate"


def slots(queue: str) -> str:
    """Key of the slots behind a queue's concurrency."""
    return f"{kind_prefix(queue, LIMITS)}slots"


def queue_of(key: str) -> tuple[str, str]:
    """Queue and kind of any key under ``QUEUES``."""
    queue, _, rest = key.removeprefix(QUEUES).partition("/")
    return queue, rest.partition("/")[0]


def marker_prefix(channel: str) -> str:
    """Prefix of the wait markers of a channel."""
    return f"wf/waits/{_channel(channel)}/"


def marker(channel: str, eid: Eid) -> str:
    """Key of the wait marker of one execution."""
    return f"{marker_prefix(channel)}{eid}"


def marker_eid(marker: WaitMarker | str) -> Eid:
    """The execution of a marker, or of a key that ``marker`` made."""
    return marker.eid if isinstance(marker, WaitMarker) else parse_eid(marker.rpartition("/")[2])


def timer(timer: Timer) -> str:
    """Key of a timer; sorts by its due time."""
    return f"{TIMERS}{timer.timer_id}"


def timer_instant(key: str) -> Timestamp:
    """The due time in a key that ``timer`` made."""
    return Timestamp.parse(key.removeprefix(TIMERS)[:27])


def archive(eid: Eid) -> str:
    """Key of a folded execution."""
    return f"{ARCHIVE}{eid}.msgpack"


def evidence_prefix(eid: Eid, prefix: str = "") -> str:
    """Prefix of the evidence of an execution whose names start with ``prefix``."""
    *whole, last = prefix.split("/")
    return f"{EVIDENCE}{eid}/" + "".join(f"{safe_part(part)}/" for part in whole) + (safe_part(last) if last else "")


def evidence(eid: Eid, name: str) -> str:
    """Key of one piece of evidence.

    Raises:
        InvalidName: a part of ``name`` between slashes is empty.
    """
    return f"{EVIDENCE}{eid}/" + "/".join(safe_part(part) for part in name.split("/"))


def evidence_name(eid: Eid, key: str) -> str:
    """The name in a key that ``evidence`` made."""
    return unquote(key.removeprefix(f"{EVIDENCE}{eid}/"), errors="strict")


def _channel(channel: str) -> str:
    if not _CHANNEL.fullmatch(channel):
        raise InvalidName(
            f"channel {channel!r} is not a name: use 1 to 128 ASCII letters, digits, '_' or '-', "
            "after an execution id and a dot for a channel of that execution"
        )
    return channel


def _priority(task: Task) -> str:
    if not 0 <= task.priority <= 99:
        raise InvalidName(f"priority {task.priority} of task {task.task_id} is not between 0 (first) and 99 (last)")
    return f"{task.priority:02d}"


def _task_part(task: Task) -> str:
    part = safe_part(task.task_id)
    if len(part) <= _LONG:
        return part
    return f"{part[:200]}%{hashlib.sha256(part.encode()).hexdigest()}"
