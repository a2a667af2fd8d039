"""The inbox: what the control log says, in whatever order and however often, and no more memory than needed."""

from uuid import UUID

from flowli.codec import to_data
from flowli.domain.entries import (
    Announced,
    ControlEntry,
    ExecutionCompleted,
    ExecutionCreated,
    ExecutionErased,
    StatusChanged,
)
from flowli.domain.execution import ExecutionStatus
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.timestamp import Timestamp
from flowli_patterns.review.inbox import Inbox
from flowli_patterns.review.model import Request, Vote, event_data

EID = UUID("0197a1b2-0000-7000-8000-000000000001")
OTHER = UUID("0197a1b2-0000-7000-8000-000000000002")
AT = Timestamp(1_000_000)
NAME = f"{EID}:review-1"


def entry(body, who="ada") -> ControlEntry:
    return ControlEntry(body, Provenance(Actor(ActorKind.HUMAN, who), Site("w"), AT))


def created(eid=EID) -> ControlEntry:
    return entry(ExecutionCreated(eid, "approve", "1", "", "default", AT))


def announced(what, eid=EID, **about) -> ControlEntry:
    return entry(Announced("review", {"what": what, "review": f"{eid}:review-1", **about}, eid))


def opened(**rules) -> ControlEntry:
    return announced("opened", request=to_data(Request("go?", **rules), Request))


def vote(place: int, who: str) -> ControlEntry:
    event = {"place": place, **event_data(Vote(who, "approve", AT))}
    return announced("event", events=[event])


def ended(eid=EID, tag=ExecutionCompleted.tag) -> ControlEntry:
    return entry(StatusChanged(eid, ExecutionStatus.COMPLETED, tag, 1, 9))


def inbox(*entries: ControlEntry) -> Inbox:
    made = Inbox(None)
    for one in entries:
        made.add(one)
    return made


def test_events_may_come_twice_and_in_any_order():
    for entries in [(vote(1, "bob"), vote(2, "cat")), (vote(2, "cat"), vote(1, "bob"), vote(1, "bob"))]:
        view = inbox(created(), opened(approvals=2), *entries, opened(approvals=2)).get(NAME)
        assert (view.status, view.decision.by, view.workflow) == ("decided", ("bob", "cat"), "approve")


def test_an_event_may_come_before_its_review_is_known():
    assert inbox(created(), vote(1, "bob"), opened()).get(NAME).status == "decided"


def test_an_event_whose_predecessor_is_not_known_waits_for_it():
    assert inbox(created(), opened(approvals=2), vote(2, "cat")).get(NAME).state.votes == ()


def test_who_started_the_execution_is_the_requester():
    assert inbox(created(), opened()).get(NAME).state.requester == "ada"


def test_the_end_of_an_execution_closes_what_it_asked():
    assert inbox(created(), opened(), ended()).get(NAME).status == "closed"


def test_what_was_erased_is_gone():
    assert inbox(created(), opened(), ended(), ended(tag=ExecutionErased.tag)).get(NAME) is None


def test_what_a_newer_version_announces_is_left_alone():
    made = inbox(
        created(), announced("opened", request={"shape": "other"}), announced("event", events=[1, {"place": 1}])
    )
    assert made.all() == []


def test_executions_that_asked_nobody_are_forgotten():
    made = inbox(created(OTHER), created(), opened(), ended(OTHER), ended())
    assert set(made._executions) == {EID}
