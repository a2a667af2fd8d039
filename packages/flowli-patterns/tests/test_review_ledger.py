"""The ledger of a review: whoever places events in whatever order, all see the same, and one end. PAT-11, PAT-14."""

import asyncio
from enum import Enum
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowli.domain.errors import UsageError
from flowli.timestamp import Timestamp
from flowli_patterns.errors import FormRefused
from flowli_patterns.review.forms import check_form, describe
from flowli_patterns.review.ledger import place
from flowli_patterns.review.model import (
    Deciders,
    Delegated,
    Escalated,
    Expired,
    Request,
    Vote,
    Withdrawn,
    event_data,
    event_of,
)
from flowli_patterns.review.state import ReviewState

AT = Timestamp(1_000_000)
PEOPLE = ["ann", "bob", "cat", "dan", "ada"]

votes = st.builds(Vote, st.sampled_from(PEOPLE), st.sampled_from(["approve", "reject", "maybe"]), st.just(AT))
delegations = st.builds(Delegated, st.sampled_from(PEOPLE), st.sampled_from(PEOPLE), st.just(AT))
events = st.one_of(
    votes,
    delegations,
    st.builds(Escalated, st.integers(1, 2), st.just(AT)),
    st.just(Expired(AT)),
    st.just(Withdrawn(AT)),
)


def begin(approvals: int) -> ReviewState:
    request = Request(
        "go?",
        approvals=approvals,
        deciders=Deciders.of(["ann", "bob"]),
        escalations=((AT, Deciders.of(["cat"])), (AT, Deciders.of(["dan"]))),
    )
    return ReviewState("r", request, "ada")


class Claims:
    """Put if absent, with the turns of the loop between that a storage takes."""

    def __init__(self, turns) -> None:
        self.standing: dict[int, object] = {}
        self._turns = turns

    async def __call__(self, number, value):
        for _ in range(self._turns()):
            await asyncio.sleep(0)
        found = self.standing.setdefault(number, value)
        for _ in range(self._turns()):
            await asyncio.sleep(0)
        return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(events, st.booleans()), min_size=1, max_size=8), st.integers(1, 2), st.randoms())
def test_all_see_one_order_and_one_end(wishes, approvals, chance):
    """PAT-11: every placer's state is that of the claims up to where it looked; what it is told is true of them."""

    async def main():
        claims = Claims(lambda: chance.randrange(4))
        placed = await asyncio.gather(*(place(begin(approvals), event, claims, eager=eager) for event, eager in wishes))
        return claims.standing, placed

    standing, placed = asyncio.run(main())
    assert sorted(standing) == list(range(1, len(standing) + 1))
    states = [begin(approvals)]
    for number in sorted(standing):
        states.append(states[-1].after(event_of(standing[number])))
    for (event, _), one in zip(wishes, placed, strict=True):
        assert one.state == states[one.state.places]
        if one.refusal is None:
            assert one.state.holds(event)
    final = states[-1]
    assert all(state.end in (None, final.end) for state in states)
    assert len({vote.by for vote in final.votes}) == len(final.votes)
    assert "ada" not in {vote.by for vote in final.votes}
    if final.decision is not None and final.decision.by:
        assert len(final.decision.by) >= (1 if final.decision.verdict == "reject" else approvals)


@given(events)
def test_an_event_comes_back_as_it_was(event):
    assert event_of(event_data(event)) == event


@pytest.mark.parametrize("data", [None, 1, {}, {"event": "vote"}, {"event": "vote", "by": 1}, {"event": "party"}])
def test_what_is_no_event_is_none(data):
    assert event_of(data) is None


class Size(Enum):
    SMALL = "small"
    BIG = "big"


def form_of(**hints):
    from dataclasses import make_dataclass

    return make_dataclass("Form", hints.items())


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (str, "x", 1),
        (int, 3, True),
        (int, -1, 1.5),
        (float, 1, "1"),
        (bool, False, 0),
        (Literal["a", "b"], "a", "c"),
        (Size, "big", "huge"),
        (str | None, None, 1),
    ],
)
def test_a_field_takes_what_it_is_annotated_with(hint, good, bad):
    fields = describe(form_of(x=hint))
    assert check_form(fields, {"x": good}) is None
    assert isinstance(check_form(fields, {"x": bad}), FormRefused)


@pytest.mark.parametrize("hint", [list[int], object, int | str, Literal[1, 2]])
def test_a_form_that_could_not_be_judged_alike_by_all_is_refused(hint):
    with pytest.raises(UsageError, match="annotated"):
        describe(form_of(x=hint))


def test_a_form_is_a_dataclass():
    with pytest.raises(UsageError, match="is no dataclass"):
        describe(int)
