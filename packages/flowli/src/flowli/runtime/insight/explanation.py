"""What ``explain`` answers: one reason, one true sentence, where it can be checked, and what moves the execution."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flowli.domain.ids import Eid

__all__ = ["Explanation", "Moves", "NextAction", "Pointers"]


class Moves(StrEnum):
    """Who has the next move."""

    NOBODY = "nobody"
    """It has ended."""

    ITSELF = "itself"
    """It goes on without anybody's doing."""

    OUTSIDE = "outside"
    """It waits for somebody outside: a message, an instant, a child."""

    OPERATOR = "operator"
    """It goes on only when an operator acts."""


@dataclass(frozen=True, slots=True)
class NextAction:
    """Something that can be done about it.

    Attributes:
        text: what it does, for people; no full stop.
        command: the whole command line, as one types it.
        fill: words in capitals in ``command`` that stand for what only the operator knows.
    """

    text: str
    command: str
    fill: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pointers:
    """The evidence: where in the bucket one finds that the sentence is true.

    Attributes:
        journal: sequence numbers of journal entries, ascending.
        keys: of other objects.
    """

    journal: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an execution stands where it stands.

    It is the same for one state of the bucket and one instant, whoever asks.

    Attributes:
        reason: its name, which is also that of its page in the runbook: ``waiting_message``. Those of a pattern have
            the name of the explainer before them: ``reviews.open``.
        sentence: the fact, with absolute instants.
        moves: who has the next move.
        actions: what moves it, the first one first.
        evidence: where to look.
        details: further facts, one sentence each.
        others: further reasons that hold as well, in the order of their weight; they have no ``others``.
    """

    eid: Eid
    reason: str
    sentence: str
    moves: Moves
    actions: tuple[NextAction, ...] = ()
    evidence: Pointers = Pointers()
    details: tuple[str, ...] = ()
    others: tuple[Explanation, ...] = ()
