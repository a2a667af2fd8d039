"""Why it is stuck: explanations, timelines, trees, graphs."""

from __future__ import annotations

from pydantic import Field, JsonValue

from flowli.runtime.insight import Explanation, FrameNode, Graph, Moment
from flowli_api.dto.base import Out
from flowli_api.dto.common import ActorOut, ErrorOut, instant, waits

__all__ = ["ExplanationOut", "GraphOut", "MomentOut", "NodeOut", "TimelineOut", "TreeOut"]


class NextActionOut(Out):
    """Something that can be done about it."""

    text: str = Field(examples=["send the message"])
    command: str = Field(description="The command line that does it.")
    verb: str = Field(description="The verb of that command, for a button: `signal`, `resume`, ...")
    fill: list[str] = Field(default=[], description="Words in the command that only the operator knows.")


class ExplanationOut(Out):
    """Why an execution stands where it stands."""

    eid: str
    reason: str = Field(examples=["waiting_message"])
    sentence: str
    moves: str = Field(examples=["outside"], description="Who has the next move: nobody, itself, outside, operator.")
    actions: list[NextActionOut]
    journal: list[int] = Field(description="Sequence numbers of the journal entries that prove it.")
    details: list[str]
    others: list[ExplanationOut]

    @classmethod
    def of(cls, found: Explanation) -> ExplanationOut:
        """From the engine. Keys of the bucket are left out."""
        return cls(
            eid=str(found.eid),
            reason=found.reason,
            sentence=found.sentence,
            moves=found.moves.value,
            actions=[
                NextActionOut(text=one.text, command=one.command, verb=_verb(one.command), fill=list(one.fill))
                for one in found.actions
            ],
            journal=list(found.evidence.journal),
            details=list(found.details),
            others=[cls.of(one) for one in found.others],
        )


class MomentOut(Out):
    """Something that happened."""

    at: str
    seq: int | None
    kind: str = Field(examples=["frame.completed"])
    text: str
    by: ActorOut | None = None
    fid: str | None = None
    values: dict[str, JsonValue]

    @classmethod
    def of(cls, one: Moment) -> MomentOut:
        """From the engine."""
        by = None if one.by is None else ActorOut.by(one.by)
        return cls(at=str(one.at), seq=one.seq, kind=one.kind, text=one.text, by=by, fid=one.fid, values=one.values)


class TimelineOut(Out):
    """What happened, in order."""

    eid: str
    moments: list[MomentOut]


class AttemptNodeOut(Out):
    """One attempt."""

    number: int
    started_at: str
    ended_at: str | None
    took_s: float
    error: ErrorOut | None = None


class NodeOut(Out):
    """One frame, or a scope that holds frames (then `kind` is null)."""

    fid: str = Field(examples=["root/charge#1"])
    name: str
    kind: str | None
    status: str
    started_at: str
    ended_at: str | None
    took_s: float
    waits_on: dict[str, JsonValue] | None
    deadline: str | None
    attempts: list[AttemptNodeOut]
    value: JsonValue
    error: ErrorOut | None
    why: str
    child: str | None
    frames: list[NodeOut]

    @classmethod
    def of(cls, node: FrameNode, values: bool) -> NodeOut:
        """From the engine."""
        return cls(
            fid=node.fid,
            name=node.name,
            kind=None if node.kind is None else node.kind.value,
            status=node.status.value,
            started_at=str(node.started_at),
            ended_at=instant(node.ended_at),
            took_s=node.took.total_seconds(),
            waits_on=None if node.waits_on is None else waits((node.waits_on,))[0],
            deadline=instant(node.deadline),
            attempts=[
                AttemptNodeOut(
                    number=one.number,
                    started_at=str(one.started_at),
                    ended_at=instant(one.ended_at),
                    took_s=one.took.total_seconds(),
                    error=ErrorOut.of(one.error, values),
                )
                for one in node.attempts
            ],
            value=node.value,
            error=ErrorOut.of(node.error, values),
            why=node.why,
            child=None if node.child is None else str(node.child),
            frames=[cls.of(one, values) for one in node.frames],
        )


class TreeOut(Out):
    """The frames below each other, with durations."""

    eid: str
    frames: list[NodeOut]
    values_hidden: bool


class GraphNodeOut(Out):
    """A frame, `start`, `end` or a join."""

    id: str
    label: str
    kind: str
    status: str
    current: bool


class GraphEdgeOut(Out):
    """A way from one node to another."""

    source: str
    target: str
    status: str


class GraphOut(Out):
    """What an execution did as nodes and edges."""

    title: str
    nodes: list[GraphNodeOut]
    edges: list[GraphEdgeOut]

    @classmethod
    def of(cls, graph: Graph) -> GraphOut:
        """From the engine."""
        return cls.model_validate(graph.to_data())


def _verb(command: str) -> str:
    words = command.split()
    return words[1] if len(words) > 1 and words[0] == "flowli" else ""
