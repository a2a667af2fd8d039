"""``vote``: ask several people, and go on as soon as their answer is certain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from flowli import Context
from flowli.timestamp import Timestamp
from flowli_pattern_vote.rules import Outcome, channel_of, check, leader

__all__ = ["vote"]


async def vote(
    ctx: Context,
    subject: str,
    voters: Sequence[str],
    *,
    choices: Sequence[str] = ("yes", "no"),
    deadline: timedelta = timedelta(days=7),
) -> Outcome:
    """Ask ``voters`` to choose, and wait until more than half of them agree, can no longer agree, or the time is up.

    Args:
        subject: what it is about, for people.
        voters: who may vote, each once; the first vote of a person counts.
        choices: what they can choose.
        deadline: how long they have.

    Raises:
        UsageError: there is nobody to ask or nothing to choose.
    """
    check(voters, choices)
    with ctx.scope("vote") as node:
        channel, end = channel_of(node), ctx.now + deadline
        ballot = {"node": node, "channel": channel, "end": str(Timestamp.from_datetime(end))}
        await ctx.announce("ballot", {**ballot, "subject": subject, "voters": [*voters], "choices": [*choices]})
        votes: dict[str, str] = {}
        over, choice = False, None
        while not over:
            # the remaining time is computed from ctx.now, which a replay repeats
            cast = await ctx.receive(channel, timeout=max(end - ctx.now, timedelta(0)))
            if cast is None:
                break
            # whoever writes to the channel past engine.ballots is checked here as well
            if isinstance(cast, dict) and cast.get("voter") in voters and cast.get("choice") in choices:
                votes.setdefault(cast["voter"], cast["choice"])
            over, choice = leader(voters, votes)
        await ctx.announce("ballot-closed", {"node": node, "choice": choice})
    return Outcome(choice, votes)
