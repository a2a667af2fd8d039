"""``engine.ballots``: the votes that are held, and casting one's own."""

from __future__ import annotations

from collections.abc import Sequence

from flowli import Engine
from flowli.domain.errors import NotAllowed, UsageError
from flowli.domain.ids import Eid
from flowli_pattern_vote.box import Ballot, Box

__all__ = ["Ballots"]


class Ballots:
    """The votes of a bucket. An engine makes one of its own and hands itself over."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._box = Box()

    async def list(self) -> Sequence[Ballot]:
        """The votes that are open, the oldest first."""
        await self._box.catch_up(self._engine.ports.control)
        return list(self._box.open.values())

    async def cast(self, eid: Eid, voter: str, choice: str) -> None:
        """Vote. Doing it twice is doing it once: the first vote of a person counts.

        Raises:
            NotAllowed: the execution holds no vote, or this person has none.
            UsageError: there is no such choice.
        """
        ballot = next((one for one in await self.list() if one.eid == eid and voter in one.voters), None)
        if ballot is None:
            raise NotAllowed(
                f"'{voter}' has no vote in execution {eid} now; engine.ballots.list() shows those that are held"
            )
        if choice not in ballot.choices:
            raise UsageError(f"there is no choice '{choice}'; choose one of {', '.join(ballot.choices)}")
        await self._engine.signal(eid, ballot.channel, {"voter": voter, "choice": choice})
