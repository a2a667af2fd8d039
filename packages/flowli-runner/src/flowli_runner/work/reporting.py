"""``Reporter``: the evidence of one attempt, and the report that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from flowli.domain.delegate import Delegate
from flowli.timestamp import Timestamp
from flowli.world import World
from flowli_runner.agents import Said
from flowli_runner.contracts import Change, Claim, Envelope, Report, ResumeArtifact
from flowli_runner.git.scopes import outside
from flowli_runner.process.launch import ProgramEnd
from flowli_runner.work.checks import run_checks
from flowli_runner.work.evidence import Box, Stream
from flowli_runner.work.jobs import Jobs
from flowli_runner.work.masking import Masker
from flowli_runner.work.outcome import outcome_of, summary_of
from flowli_runner.work.plane import Plane
from flowli_runner.work.records import Record

__all__ = ["Reporter"]

_LONGEST = 65_536


@dataclass
class Reporter:
    """Of one attempt under one delivery."""

    world: World
    jobs: Jobs
    plane: Plane
    delegate: Delegate
    envelope: Envelope
    record: Record
    masker: Masker
    limit: int
    transcript: Path
    _box: Box = field(init=False)
    _stream: Stream = field(init=False)

    def __post_init__(self) -> None:
        self._box = Box(self.plane, self.delegate, self.masker, self.limit)
        self._stream = Stream(self._box, self.masker, self.transcript)

    async def look(self) -> None:
        """Keep what is new of the transcript."""
        await self._stream.look()

    async def report(self, end: ProgramEnd, said: Said) -> Report:
        """Everything that is to be told of work that has ended."""
        record, envelope = self.record, self.envelope
        folder = self.jobs.folder(record.attempt)
        await self._stream.end()
        head, changes = "", tuple[Change, ...]()
        trees, tree = self.jobs.trees, self.jobs.tree(record)
        if trees is not None and tree is not None:
            sealed = await trees.seal(tree)
            head, changes = sealed.head, tuple(Change(status, path) for status, path in sealed.changes)
            await trees.diff(tree, head, folder / "diff")
            await self._box.put_file("diff", folder / "diff", "text/x-diff")
        beyond = outside((one.path for one in changes), envelope.write_scopes)
        checks = await run_checks(
            self.world, envelope.checks, record.attempt, folder, Path(record.tree), self._box, self.delegate.delivery
        )
        await self._box.attach(folder / "attachments")
        ref = "" if tree is None else self.jobs.kept_ref(record)
        return Report(
            outcome=outcome_of(end, said, beyond, checks),
            summary=self._text(summary_of(end, said)),
            claims=tuple(Claim(self._text(one.text), tuple(map(self._text, one.evidence))) for one in said.claims),
            changes=changes,
            outside=beyond,
            checks=tuple(replace(one, argv=tuple(map(self._text, one.argv))) for one in checks),
            evidence=tuple(self._box.refs),
            cost=replace(said.cost, duration_s=self._duration_s()),
            resume=ResumeArtifact(self._text(said.resume or said.summary), self._text(said.session), ref),
            base=record.base,
            branch=record.branch,
            head=head,
            attempt=record.attempt,
        )

    def _text(self, text: str) -> str:
        return self.masker.text(text)[:_LONGEST]

    def _duration_s(self) -> float:
        if not self.record.begun_at:
            return 0.0
        begun = Timestamp.parse(self.record.begun_at).to_datetime()
        return max(0.0, (self.world.now().to_datetime() - begun) / timedelta(seconds=1))
