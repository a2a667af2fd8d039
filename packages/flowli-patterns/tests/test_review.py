"""``review``: exactly one decision, by whom it may be, in time; and what people see of it. Case K37."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Literal

import pytest

from flowli import Context, Registry, WorkflowProjection
from flowli.domain.errors import ExecutionFailed, UsageError
from flowli.domain.provenance import Actor, ActorKind
from flowli.testing.env import TestEnvironment
from flowli_patterns.errors import (
    AlreadyVoted,
    FormRefused,
    NotADecider,
    ReviewClosed,
    ReviewDecided,
    ReviewExpired,
    UnknownReview,
    UnknownVerdict,
)
from flowli_patterns.public import Decision, Escalation, Notice, Reviews, review

registry = Registry()
DAY = timedelta(days=1)
ADA = Actor(ActorKind.HUMAN, "ada")

told: list[Notice] = []
paid: list[str] = []


@pytest.fixture(autouse=True)
def fresh():
    told.clear()
    paid.clear()


@dataclass(frozen=True)
class Terms:
    amount: Decimal
    risk: Literal["low", "high"]
    note: str | None = None


def tell(notice: Notice) -> None:
    told.append(notice)


def pay(invoice: str) -> str:
    paid.append(invoice)
    return f"paid {invoice}"


@registry.workflow
async def approve(ctx: Context, invoice: str, rules: dict | None = None) -> str:
    found = dict(rules or {})
    if "escalate" in found:
        found["escalate"] = [Escalation(timedelta(days=days), tuple(to)) for days, to in found["escalate"]]
    if found.pop("tell", False):
        found["notify"] = tell
    decision = await review(ctx, f"pay {invoice}?", data={"invoice": invoice}, **found)
    if decision.approved:
        await ctx.step(pay, invoice)
    return shown(decision)


def shown(decision: Decision) -> str:
    return f"{decision.verdict} by {', '.join(decision.by)}{' (expired)' if decision.expired else ''}"


@registry.workflow
async def with_form(ctx: Context) -> str:
    decision = await review(ctx, "which terms?", form=Terms, deciders=["bob"])
    assert decision.form is not None
    return f"{decision.verdict} {decision.form.amount + 1} {decision.form}"


@registry.workflow
async def two_gates(ctx: Context) -> list[str]:
    found = []
    for gate in ("first", "second"):
        try:
            found.append(shown(await review(ctx, gate, deadline=DAY)))
        except ReviewExpired:
            found.append("expired")
    return found


def needs_repair() -> None:
    if not paid:
        raise ValueError("out of order")


@registry.workflow
async def review_beside_a_step(ctx: Context) -> str:
    decision, _ = await ctx.gather(review(ctx, "go?"), ctx.step(needs_repair))
    return shown(decision)


@registry.workflow
async def side_by_side(ctx: Context) -> list[str]:
    return [shown(one) for one in await ctx.gather(review(ctx, "left"), review(ctx, "right"))]


class Desk:
    """Reviews of an environment, its time driven."""

    def __init__(self, env: TestEnvironment) -> None:
        self.env = env
        self.reviews = Reviews(env.engine)

    async def list(self, **options):
        return await self.env.clock.drive(self.reviews.list(**options))

    async def get(self, name: str):
        return await self.env.clock.drive(self.reviews.get(name))

    async def decide(self, name: str, verdict: str, who: str, **options):
        return await self.env.clock.drive(self.reviews.decide(name, verdict, actor=who, **options))

    async def delegate(self, name: str, to: str, who: str, **options):
        return await self.env.clock.drive(self.reviews.delegate(name, to, actor=who, **options))

    async def opened(self, workflow=approve, *args) -> str:
        """The id of the review of a new execution."""
        eid = await self.env.start(workflow, *args, actor=ADA)
        await self.env.settle()
        return next(view.review for view in await self.list() if view.eid == eid)

    async def end(self, name: str):
        await self.env.run_until_idle()
        return await self.env.result((await self.get(name)).eid)


@pytest.fixture
async def desk(open_env):
    async with open_env(registry) as env:
        yield Desk(env)


async def test_a_decision_goes_to_the_workflow(desk):
    name = await desk.opened(approve, "INV-1")
    (view,) = await desk.list()
    assert (view.subject, view.workflow, view.status, view.state.request.data) == (
        "pay INV-1?",
        "approve",
        "open",
        {"invoice": "INV-1"},
    )
    decided = await desk.decide(name, "approve", "bob", comment="fine")
    assert (decided.status, shown(decided.decision)) == ("decided", "approve by bob")
    assert await desk.end(name) == "approve by bob"
    assert paid == ["INV-1"]
    assert await desk.list() == []
    assert (await desk.get(name)).decision.comment == "fine"


async def test_another_engine_sees_the_decision_at_once(desk):
    name = await desk.opened(approve, "INV-1")
    await desk.decide(name, "approve", "bob")
    assert (await Desk(desk.env).get(name)).status == "decided"


async def test_k37_the_loser_is_told_who_won_and_the_winner_may_repeat_himself(desk):
    """K37, PAT-11."""
    name = await desk.opened(approve, "INV-1")
    await desk.decide(name, "reject", "bob", comment="too much")
    other = Desk(desk.env)
    with pytest.raises(ReviewDecided, match=r"was decided 'reject' by bob at .*; that stands") as lost:
        await other.decide(name, "approve", "cat")
    assert lost.value.decision.comment == "too much"
    assert shown((await other.decide(name, "reject", "bob")).decision) == "reject by bob"
    assert await desk.end(name) == "reject by bob"
    assert shown((await other.decide(name, "reject", "bob")).decision) == "reject by bob"
    assert paid == []


async def test_who_started_it_cannot_decide_it(desk):
    name = await desk.opened(approve, "INV-1")
    with pytest.raises(NotADecider, match="ada asked for what review"):
        await desk.decide(name, "approve", "ada")
    other = await desk.opened(approve, "INV-2", {"self_approval": True})
    assert (await desk.decide(other, "approve", "ada")).status == "decided"
    third = await desk.opened(approve, "INV-3", {"requester": "eve"})
    with pytest.raises(NotADecider):
        await desk.decide(third, "approve", "eve")
    assert (await desk.decide(third, "approve", "ada")).status == "decided"


async def test_only_those_who_are_named_decide(desk):
    name = await desk.opened(approve, "INV-1", {"deciders": ["bob", "group:finance"]})
    with pytest.raises(NotADecider, match="those who may are bob, group:finance"):
        await desk.decide(name, "approve", "cat", groups=["sales"])
    assert [
        len(await desk.list(who=who, groups=groups)) for who, groups in [("bob", []), ("cat", []), ("cat", ["finance"])]
    ] == [1, 0, 1]
    await desk.decide(name, "approve", "cat", groups=["finance"])
    assert await desk.end(name) == "approve by cat"


async def test_n_of_m_have_to_agree_and_one_veto_ends_it(desk):
    """PAT-14."""
    rules = {"deciders": ["bob", "cat", "dan"], "approvals": 2}
    name = await desk.opened(approve, "INV-1", rules)
    first = await desk.decide(name, "approve", "bob")
    assert (first.status, len(first.state.votes)) == ("open", 1)
    await desk.decide(name, "approve", "bob")  # again, and counted once
    with pytest.raises(AlreadyVoted, match="bob voted 'approve'"):
        await desk.decide(name, "reject", "bob")
    assert await desk.list(who="bob") == []
    await desk.decide(name, "approve", "dan")
    assert await desk.end(name) == "approve by bob, dan"
    other = await desk.opened(approve, "INV-2", rules)
    await desk.decide(other, "approve", "bob")
    await desk.decide(other, "reject", "cat")
    assert await desk.end(other) == "reject by cat"
    assert paid == ["INV-1"]


async def test_the_right_to_decide_is_handed_over(desk):
    name = await desk.opened(approve, "INV-1", {"deciders": ["bob", "group:finance"], "tell": True})
    for who, to, groups in [("cat", "dan", []), ("bob", "ada", [])]:
        with pytest.raises(NotADecider):
            await desk.delegate(name, to, who, groups=groups)
    with pytest.raises(UsageError, match="to themselves"):
        await desk.delegate(name, "bob", "bob")
    view = await desk.delegate(name, "dan", "bob")
    assert view.state.deciders == ("group:finance", "dan")
    with pytest.raises(NotADecider):
        await desk.decide(name, "approve", "bob")
    await desk.env.settle()
    assert [(notice.why, notice.to) for notice in told] == [
        ("opened", ("bob", "group:finance")),
        ("delegated", ("dan",)),
    ]
    await Desk(desk.env).decide(name, "approve", "dan")
    assert await desk.end(name) == "approve by dan"


async def test_a_form_is_checked_and_read(desk):
    name = await desk.opened(with_form)
    wrong = [
        ({"risk": "low"}, "field 'amount' of the form is missing; give a decimal"),
        ({"amount": "x", "risk": "low"}, "field 'amount' of the form is 'x'; give a decimal"),
        ({"amount": "1.5", "risk": "some"}, "give a choice among low, high"),
        ({"amount": "1.5", "risk": "low", "extra": 1}, "the form has no field 'extra'; it has amount, risk, note"),
        ({"amount": "1.5", "risk": "low", "note": 3}, "give a text, or null"),
    ]
    for form, problem in wrong:
        with pytest.raises(FormRefused, match=problem):
            await desk.decide(name, "approve", "bob", form=form)
    await desk.decide(name, "approve", "bob", form=Terms(Decimal("1.5"), "low"))
    assert await desk.end(name) == "approve 2.5 Terms(amount=Decimal('1.5'), risk='low', note=None)"


async def test_an_unknown_verdict_is_refused_unless_all_are_taken(desk):
    name = await desk.opened(approve, "INV-1")
    with pytest.raises(UnknownVerdict, match="takes no verdict 'maybe'; use one of approve, reject"):
        await desk.decide(name, "maybe", "bob")
    other = await desk.opened(approve, "INV-2", {"verdicts": None})
    await desk.decide(other, "maybe", "bob")
    assert await desk.end(other) == "maybe by bob"


async def test_an_unknown_review_is_named(desk):
    with pytest.raises(UnknownReview, match="no review 'x' was opened"):
        await desk.decide("x", "approve", "bob")


async def test_a_decision_on_an_expired_review_is_refused_and_not_applied_to_the_next_gate(desk):
    """PAT-12."""
    name = await desk.opened(two_gates)
    await desk.env.advance(DAY)
    with pytest.raises(ReviewExpired, match="expired at 2026-01-02"):
        await desk.decide(name, "approve", "bob")
    (second,) = await desk.list()
    assert second.subject == "second"
    await desk.decide(second.review, "reject", "bob")
    assert await desk.end(name) == ["expired", "reject by bob"]


async def test_a_decision_after_the_deadline_is_refused_though_nobody_has_looked(desk):
    name = await desk.opened(two_gates)
    desk.env.clock.jump(desk.env.clock.now() + 2 * DAY)  # and no sweeper ran
    with pytest.raises(ReviewExpired):
        await desk.decide(name, "approve", "bob")


async def test_a_message_that_slipped_past_the_engine_is_not_applied_to_the_next_gate(desk):
    """A message of an engine that died between the message and the claim, after the deadline."""
    name = await desk.opened(two_gates)
    view = await desk.get(name)
    await desk.env.advance(DAY)
    late = {"event": "vote", "by": "bob", "verdict": "approve", "at": "2026-01-01T12:00:00.000000Z"}
    await desk.env.signal(view.eid, view.channel, late)
    await desk.env.settle()
    assert [one.subject for one in await desk.list()] == ["second"]


async def test_a_verdict_may_stand_for_the_deadline(desk):
    name = await desk.opened(approve, "INV-1", {"deadline": 3600, "if_expired": "approve"})
    assert await desk.end(name) == "approve by  (expired)"
    assert paid == ["INV-1"]


async def test_people_are_reminded_and_others_are_asked(desk):
    rules = {
        "deciders": ["bob"],
        "remind": 86_400 * 1.5,
        "deadline": 86_400 * 7,
        "escalate": [[2, ["cat"]], [4, ["group:board"]]],
        "tell": True,
    }
    name = await desk.opened(approve, "INV-1", rules)
    with pytest.raises(NotADecider):
        await desk.decide(name, "approve", "cat")
    await desk.env.advance(5 * DAY)
    assert [(notice.why, notice.to) for notice in told] == [
        ("opened", ("bob",)),
        ("reminder", ("bob",)),
        ("escalated", ("cat",)),
        ("reminder", ("bob", "cat")),
        ("escalated", ("group:board",)),
        ("reminder", ("bob", "cat", "group:board")),
    ]
    assert {notice.review for notice in told} == {name}
    await desk.decide(name, "approve", "eve", groups=["board"])
    assert await desk.end(name) == "approve by eve"


async def test_what_a_cancelled_workflow_asked_is_closed(desk):
    """PAT-16."""
    name = await desk.opened(approve, "INV-1")
    view = await desk.get(name)
    await desk.env.clock.drive(desk.env.engine.cancel(view.eid))
    await desk.env.run_until_idle()
    assert (await desk.get(name)).status == "closed"
    with pytest.raises(ReviewClosed, match="no longer waits"):
        await desk.decide(name, "approve", "bob")


async def test_what_a_terminated_workflow_asked_is_closed(desk):
    name = await desk.opened(approve, "INV-1")
    await desk.env.clock.drive(desk.env.engine.terminate((await desk.get(name)).eid))
    assert await desk.list() == []
    with pytest.raises(ReviewClosed, match="its execution has ended"):
        await desk.decide(name, "approve", "bob")


async def test_reviews_side_by_side_are_told_apart(desk):
    await desk.opened(side_by_side)
    left, right = await desk.list()
    await desk.decide(right.review, "reject", "bob")
    await desk.decide(left.review, "approve", "bob")
    assert await desk.end(left.review) == ["approve by bob", "reject by bob"]


async def test_a_crash_between_the_message_and_the_claim_is_made_good_by_the_workflow(desk):
    """PAT-13, PAT-15."""
    name = await desk.opened(approve, "INV-1", {"deciders": ["bob"]})
    view = await desk.get(name)
    vote = {"event": "vote", "by": "bob", "verdict": "approve", "at": str(desk.env.clock.now())}
    for noise in ({"hello": 1}, {"event": "vote"}, {**vote, "by": "mallory"}, vote, vote):
        await desk.env.signal(view.eid, view.channel, noise)
    assert await desk.end(name) == "approve by bob"


async def test_explain_names_the_reviews_that_are_waited_for(desk):
    name = await desk.opened(approve, "INV-1", {"deadline": 86_400, "deciders": ["bob"]})
    view = await desk.get(name)
    told = await desk.env.clock.drive(desk.env.engine.explain(view.eid))
    assert told.reason == "reviews.open"
    assert f"for bob to decide 'pay INV-1?' (review {name}), until 2026-01-02T00:00:00" in told.sentence
    assert told.actions[0].command == f"flowli decide {name} VERDICT"
    await desk.opened(side_by_side)
    left, right = await desk.list(workflow="side_by_side")
    told = await desk.env.clock.drive(desk.env.engine.explain(left.eid))
    assert left.review in told.sentence
    assert told.details == (f"It also waits for somebody to decide 'right' (review {right.review}).",)
    await desk.decide(name, "approve", "bob")
    await desk.env.run_until_idle()
    assert (await desk.env.clock.drive(desk.env.engine.explain(view.eid))).reason == "completed"


async def test_a_projection_shows_what_the_control_log_says(desk, tmp_path):
    ports, world = desk.env.engine.ports, desk.env.engine.world
    projection = WorkflowProjection(f"{tmp_path}/view.db", ports.control, world=world)
    by_rows = Desk(desk.env)
    by_rows.reviews = Reviews(desk.env.engine, projection)
    name = await desk.opened(approve, "INV-1", {"deciders": ["bob", "cat"], "approvals": 2})
    await desk.decide(name, "approve", "bob")
    other = await desk.opened(approve, "INV-2")
    await desk.env.clock.drive(desk.env.engine.terminate((await desk.get(other)).eid))
    assert await by_rows.list(status=None) == await desk.list(status=None)
    assert {view.status for view in await by_rows.list(status=None)} == {"open", "closed"}
    assert (await by_rows.decide(name, "approve", "cat")).status == "decided"
    await desk.env.run_until_idle()
    assert await by_rows.list(status=None) == await desk.list(status=None)
    for view in await desk.list(status=None):
        await desk.env.clock.drive(desk.env.engine.erase(view.eid))
    assert await by_rows.list(status=None) == await desk.list(status=None) == []
    await projection.close()


async def test_a_retry_that_took_a_review_over_is_decided_by_its_own_id(desk, tmp_path):
    """The source fails while its review is open; the fork holds the announcement and waits on."""
    eid = await desk.env.start(review_beside_a_step, actor=ADA)
    await desk.env.run_until_idle()
    assert (await desk.env.status(eid)).status == "failed"
    assert await desk.list() == []
    paid.append("repaired")
    fork = await desk.env.clock.drive(desk.env.engine.retry(eid, actor=ADA))
    await desk.env.settle()
    told = await desk.env.clock.drive(desk.env.engine.explain(fork))
    assert f"(review {fork}:review-1)" in told.sentence
    with pytest.raises(NotADecider):
        await desk.decide(f"{fork}:review-1", "approve", "ada")
    projection = WorkflowProjection(f"{tmp_path}/view.db", desk.env.engine.ports.control, world=desk.env.engine.world)
    by_rows = Reviews(desk.env.engine, projection)
    assert (await desk.env.clock.drive(by_rows.get(f"{fork}:review-1"))).status == "open"
    await projection.close()
    await desk.decide(f"{fork}:review-1", "approve", "bob")
    assert (await Desk(desk.env).get(f"{fork}:review-1")).status == "decided"
    await desk.env.run_until_idle()
    assert await desk.env.result(fork) == "approve by bob"


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"approvals": 0}, "approvals is 0"),
        ({"approvals": 3, "deciders": ["bob", "cat"]}, "only 2 may decide"),
        ({"verdicts": []}, "verdicts is empty"),
        ({"vetoes": ["no"]}, "holds what is no verdict"),
        ({"if_expired": "approve"}, "needs a deadline"),
        ({"deadline": 5, "if_expired": "maybe"}, "'maybe' is no verdict"),
        ({"deadline": -5}, "more than zero"),
        ({"deciders": "bob"}, "give a list of names"),
        ({"deciders": ["group:"]}, "a name that is empty"),
        ({"escalate": [[1, ["bob"]]]}, "nobody to escalate to"),
    ],
)
async def test_rules_that_cannot_work_are_refused(rules, problem):
    async with TestEnvironment(registry) as env:
        with pytest.raises(ExecutionFailed, match=problem):
            await env.run(approve, "INV-1", rules)


async def test_a_review_goes_on_after_a_deploy(desk):
    name = await desk.opened(approve, "INV-1", {"deciders": ["bob", "cat"], "approvals": 2})
    await desk.decide(name, "approve", "bob")
    await desk.env.restart()
    await desk.env.settle()
    await desk.decide(name, "approve", "cat")
    await desk.env.restart()
    assert await desk.end(name) == "approve by bob, cat"
