"""``Contents``: the keys of a bucket at one moment, sorted into what they are."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from flowli.cairn.store import ObjectStore
from flowli.domain.errors import InvalidName
from flowli.domain.ids import Eid, parse_eid

__all__ = ["Contents", "LogKeys", "read_contents"]

_EID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
_LAYOUT = re.compile(
    r"wf/(?:layout|probe/.+|copy/.+"
    rf"|exec/{_EID}/(?:meta|lease)|dispatch/.+|claims/.+|archive/{_EID}\.msgpack|evidence/{_EID}/.+"
    rf"|waits/[^/]+/{_EID}|timers/{_INSTANT}-.+"
    rf"|queues/[A-Za-z0-9_-]+/(?:(?:delayed|dead)/{_INSTANT}/\d\d/[^/]+|ready/\d\d/{_INSTANT}/[^/]+|limits/\w+))"
    r"|logs/wf(?:\.exec\.[^/]+|\.ch\.[^/]+)?/(?:log/\d{12}\.msgpack|snapshots/.+)"
)
_COMMIT = re.compile(r"logs/([^/]+)/log/(\d{12})\.msgpack")
_SEGMENT = re.compile(r"logs/([^/]+)/snapshots/segment/(\d{12})\.msgpack")
_JOURNAL = "wf.exec."


@dataclass(slots=True)
class LogKeys:
    """What a log is made of: numbers of commits and of segments."""

    name: str
    commits: list[int] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Contents:
    """See the module's docstring.

    Attributes:
        keys: all of them, in order.
        strange: those that are none of the key layout.
    """

    keys: list[str]
    strange: list[str] = field(default_factory=list)
    logs: dict[str, LogKeys] = field(default_factory=dict)

    def under(self, prefix: str) -> list[str]:
        """The keys under a prefix."""
        first = bisect.bisect_left(self.keys, prefix)
        return self.keys[first : bisect.bisect_left(self.keys, prefix + "\uffff")]

    def executions(self) -> list[Eid]:
        """Every execution of which there is a record, a journal or an archive."""
        named = {key.split("/")[2] for key in self.under("wf/exec/") if key.endswith("/meta")}
        named |= {name.removeprefix(_JOURNAL) for name in self.logs if name.startswith(_JOURNAL)}
        named |= {key.split("/")[2].removesuffix(".msgpack") for key in self.under("wf/archive/")}
        return sorted(filter(None, map(_eid, named)))


async def read_contents(store: ObjectStore) -> Contents:
    """List the whole bucket."""
    keys: list[str] = []
    for prefix in ("logs/", "wf/"):
        after: str | None = None
        while True:
            page = await store.list(prefix, after=after)
            keys += [item.key for item in page.items]
            if not page.more or not page.items:
                break
            after = page.items[-1].key
    return _sorted(keys)


def _sorted(keys: Iterable[str]) -> Contents:
    contents = Contents(sorted(keys))
    for key in contents.keys:
        if not _LAYOUT.fullmatch(key):
            contents.strange.append(key)
        elif commit := _COMMIT.fullmatch(key):
            contents.logs.setdefault(commit[1], LogKeys(commit[1])).commits.append(int(commit[2]))
        elif segment := _SEGMENT.fullmatch(key):
            contents.logs.setdefault(segment[1], LogKeys(segment[1])).segments.append(int(segment[2]))
    return contents


def _eid(text: str) -> Eid | None:
    try:
        return parse_eid(text)
    except InvalidName:
        return None
