"""What a vote leads to: pure functions, which the workflow, the job and ``explain`` share."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flowli.domain.errors import UsageError
from flowli.domain.ids import Fid

__all__ = ["Outcome", "channel_of", "check", "leader"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a vote ended.

    Attributes:
        choice: the choice that has the majority of all voters; None if the time was up, or no choice can have it.
        votes: the choice of each person who voted.
    """

    choice: str | None
    votes: Mapping[str, str]


def check(voters: Sequence[str], choices: Sequence[str]) -> None:
    """Refuse a vote that cannot be held.

    Raises:
        UsageError: there is nobody to ask or nothing to choose, or a name stands twice.
    """
    for what, names, least in (("voters", voters, 1), ("choices", choices, 2)):
        if len(names) < least:
            raise UsageError(f"a vote needs at least {least} of its {what}; it has {len(names)}")
        if len(set(names)) < len(names):
            raise UsageError(f"the {what} of a vote are {', '.join(names)}; name each of them once")


def leader(voters: Sequence[str], votes: Mapping[str, str]) -> tuple[bool, str | None]:
    """Whether the vote is over, and the choice that then has the majority of all voters."""
    counts = Counter(votes.values()).most_common(1)
    choice, most = counts[0] if counts else (None, 0)
    if 2 * most > len(voters):
        return True, choice
    missing = len(voters) - len(votes)
    return 2 * (most + missing) <= len(voters), None


def channel_of(node: Fid) -> str:
    """The channel on which the vote of that node receives: the node's path is unique in its execution."""
    return f"_vote-{hashlib.sha256(node.encode()).hexdigest()[:24]}"
