"""Everything that the cairn and its stores raise, in one tree.

::

    CairnError
    ├── KeyRefused          a key or prefix that no store accepts              (also a ValueError)
    ├── NotStorable         a value that has no stored form                    (also a ValueError)
    ├── FormatTooNew        an object written by a newer release
    ├── OutcomeUnknown      a write whose fate could not be settled
    ├── LeaseGone           the lease has another holder or epoch
    ├── LogFenced           a commit at a number that was trimmed away; it was taken back
    ├── CopyRefused         an installation cannot be copied or moved now
    ├── LogTrimmed          a position before the first commit that a log still holds
    └── StoreError          the store refused or could not be reached; nothing was written
        ├── StoreConfigError    the storage URL or mapping is wrong
        ├── StoreMissing        there is no such bucket, container or folder
        ├── StorePermission     the credentials or the file mode do not allow it
        ├── StoreFull           no space or quota left
        ├── StoreDamaged        an object is not what was written
        ├── StoreThrottled      too many requests; trying again later helps
        ├── StoreUnavailable    not reachable or failing for now; trying again later helps
        └── StoreUnsuitable     the store cannot keep the contract of ObjectStore
            └── LayoutTooNew    the bucket was laid out by a newer release

A message is one sentence of fact, then what to do.
"""

from __future__ import annotations

__all__ = [
    "CairnError",
    "CopyRefused",
    "FormatTooNew",
    "KeyRefused",
    "LayoutTooNew",
    "LeaseGone",
    "LogFenced",
    "LogTrimmed",
    "NotStorable",
    "OutcomeUnknown",
    "StoreConfigError",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreMissing",
    "StorePermission",
    "StoreThrottled",
    "StoreUnavailable",
    "StoreUnsuitable",
]


class CairnError(Exception):
    """Base of the tree.

    Args:
        fact: what is the case, one sentence without its full stop; names the thing.
        advice: what to do about it, one sentence without its full stop.
    """

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(fact, advice)
        self.fact = fact
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.fact}. {self.advice}." if self.advice else f"{self.fact}."


class KeyRefused(CairnError, ValueError):
    """A key or prefix breaks the rules of ``flowli.cairn.keys``; no store was asked."""


class NotStorable(CairnError, ValueError):
    """A value has no stored form: not JSON-compatible, or too large a number."""


class FormatTooNew(CairnError):
    """An object carries a format version that this release cannot read."""


class OutcomeUnknown(CairnError):
    """A conditional write may or may not have been applied, and reading back did not settle it in time.

    An owner treats this as being fenced; any other caller may ask again under the same name.
    """


class LeaseGone(CairnError):
    """The lease is no longer held under this epoch by this holder; what the caller wanted to change was not changed."""


class LogFenced(CairnError):
    """A commit won a number at or below the boundary of a trimmed log. It was removed and must not count."""


class LogTrimmed(CairnError):
    """Commits after the given position have been trimmed; start from a snapshot at the boundary or later.

    Args:
        name: of the log.
        asked: number of the commit after which commits were asked for.
        commit: number of the last commit that may be gone.
        seq: number of its last record.
    """

    def __init__(self, name: str, asked: int, commit: int, seq: int) -> None:
        super().__init__(
            f"The log {name!r} is trimmed up to commit {commit}; what follows {asked} was asked for",
            "Start from a snapshot at the boundary",
        )
        self.args = (name, asked, commit, seq)
        self.commit = commit
        self.seq = seq


class CopyRefused(CairnError):
    """A copy of an installation cannot begin or cannot be finished now; nothing was lost."""


class StoreError(CairnError):
    """The store refused, or could not be reached, and nothing was written."""


class StoreConfigError(StoreError):
    """The storage URL, mapping or environment is wrong."""


class StoreMissing(StoreError):
    """There is no such bucket, container or folder."""


class StorePermission(StoreError):
    """The credentials or the file mode do not allow it."""


class StoreFull(StoreError):
    """No space or quota is left."""


class StoreDamaged(StoreError):
    """An object is not what was written: short, altered, or not written by flowli."""


class StoreThrottled(StoreError):
    """Too many requests for now; the same call may succeed later."""


class StoreUnavailable(StoreError):
    """Not reachable, or failing for now; the same call may succeed later."""


class StoreUnsuitable(StoreError):
    """The store cannot keep the contract of ``ObjectStore`` (named checks of ``flowli.cairn.probe``)."""


class LayoutTooNew(StoreUnsuitable):
    """The bucket was laid out by a newer release.

    Args:
        found: layout version of the bucket.
        known: newest layout version that this release understands.
    """

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The bucket has layout version {found} and this release of flowli knows versions up to {known}",
            "Upgrade flowli in this environment",
        )
        self.args = (found, known)
        self.found = found
        self.known = known
