"""The frames of an execution as lines of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flowli.cli.render import words
from flowli.cli.render.screen import Cell
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import ROOT
from flowli.domain.memo import AttemptView, Frame, JournalFold
from flowli.timestamp import Timestamp

__all__ = ["Row", "frame_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the label with its indentation or guides, then the columns."""

    label: str
    kind: str
    status: Cell
    time: str
    detail: str


@dataclass(slots=True)
class _Node:
    label: str
    frame: Frame | None = None
    children: dict[str, _Node] = field(default_factory=dict)


def frame_rows(fold: JournalFold, now: Timestamp, *, guides: bool, values: bool) -> list[Row]:
    """The tree of all frames below the root, each failed or repeated attempt below its frame.

    Args:
        guides: draw lines between the nodes instead of indenting by two spaces.
        values: show the memo of each completed frame.
    """
    root = _Node(ROOT)
    for frame in fold.frames.values():
        if frame.kind is not FrameKind.ROOT:
            _place(root, frame)
    return list(_rows(root, "", now, guides=guides, values=values))


def _place(root: _Node, frame: Frame) -> None:
    node = root
    for part in frame.fid.removeprefix(f"{ROOT}/").split("/"):
        node = node.children.setdefault(part, _Node(part))
    node.frame = frame


def _rows(node: _Node, indent: str, now: Timestamp, *, guides: bool, values: bool) -> Iterator[Row]:
    shown = _attempts(node.frame)
    last = len(shown) + len(node.children) - 1
    for number, attempt in enumerate(shown):
        branch = _branch(guides, number == last)
        error = "" if attempt.error is None else words.error(attempt.error)
        state = "failed" if attempt.error else "ended" if attempt.ended_at else "running"
        label = f"{indent}{branch}attempt {attempt.number}"
        yield Row(label, "", words.status(state), _time(attempt.started_at, attempt.ended_at, now), _one_line(error))
    for number, child in enumerate(node.children.values(), len(shown)):
        branch = _branch(guides, number == last)
        yield _row(child, indent + branch, now, values=values)
        below = indent + ("  " if not guides else "   " if number == last else "│  ")
        yield from _rows(child, below, now, guides=guides, values=values)


def _row(node: _Node, before: str, now: Timestamp, *, values: bool) -> Row:
    frame = node.frame
    if frame is None:
        return Row(before + node.label, "scope", "", "", "")
    return Row(
        before + node.label,
        frame.kind.value,
        words.status(frame.status.value),
        _time(frame.started_at, frame.ended_at, now),
        _one_line(_detail(frame, now, values=values)),
    )


def _attempts(frame: Frame | None) -> list[AttemptView]:
    """The attempts that say more than their frame does."""
    if frame is None or (len(frame.attempts) < 2 and not any(one.error for one in frame.attempts)):
        return []
    return frame.attempts


def _detail(frame: Frame, now: Timestamp, *, values: bool) -> str:
    match frame.status:
        case FrameStatus.WAITING if frame.waits_on is not None:
            return words.on(frame.waits_on, now)
        case FrameStatus.FAILED if len(frame.attempts) > 1:
            return f"after {len(frame.attempts)} attempts"
        case FrameStatus.RUNNING if frame.error is not None:
            return "to be tried again"
        case FrameStatus.CANCELLED:
            return frame.why
        case FrameStatus.COMPLETED if values:
            return words.short(frame.value)
        case _:
            return ""


def _time(start: Timestamp, end: Timestamp | None, now: Timestamp) -> str:
    return words.duration((end or now) - start)


def _branch(guides: bool, last: bool) -> str:
    return ("└─ " if last else "├─ ") if guides else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
