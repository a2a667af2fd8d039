"""The logs of a bucket: dense, in sequence, readable; and their segments hold what they stand for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from flowli.cairn.commit import Commit, commit_key, decode_commit, log_prefix
from flowli.cairn.errors import CairnError
from flowli.cairn.objects import Documents
from flowli.cairn.snapshot import SEGMENT, Segments
from flowli.cli.check.contents import LogKeys
from flowli.cli.check.finding import Finding, found

__all__ = ["LogLooked", "look_at_log"]

_AT_ONCE = 64
_RESTORE = "Restore it from a copy of the bucket; nothing here tells what it held."


@dataclass(slots=True)
class LogLooked:
    """What was seen of a log.

    Attributes:
        commits: that can be read, in order.
        findings: what does not hold.
    """

    commits: list[Commit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


async def look_at_log(documents: Documents, keys: LogKeys, *, trimmed: int = 0) -> LogLooked:
    """Read a whole log.

    Args:
        trimmed: commits up to this number may be gone.
    """
    looked = LogLooked()
    await _read(documents, keys, looked)
    _dense(keys, looked, trimmed)
    _in_sequence(keys.name, looked)
    await _segments(documents, keys, looked)
    return looked


async def _read(documents: Documents, keys: LogKeys, looked: LogLooked) -> None:
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Commit | Finding | None:
        key = commit_key(keys.name, number)
        async with free:
            try:
                raw = await documents.read_bytes(key)
                return None if raw is None else decode_commit(key, number, raw.data)
            except CairnError as error:
                return found("readable", key, str(error), [key], _RESTORE)

    for result in await asyncio.gather(*map(one, keys.commits)):
        if isinstance(result, Commit):
            looked.commits.append(result)
        elif result is not None:
            looked.findings.append(result)


def _dense(keys: LogKeys, looked: LogLooked, trimmed: int) -> None:
    numbers = set(keys.commits)
    first = min(numbers, default=1)
    missing = sorted(set(range(1 if first <= trimmed + 1 else trimmed + 1, max(numbers, default=0) + 1)) - numbers)
    missing = [number for number in missing if number > trimmed]
    if missing:
        looked.findings.append(
            found(
                "log-dense",
                keys.name,
                f"log '{keys.name}' lacks {len(missing)} of its commits, the first is {missing[0]}: readers stop there",
                [commit_key(keys.name, number) for number in missing[:5]],
                _RESTORE,
            )
        )


def _in_sequence(name: str, looked: LogLooked) -> None:
    for before, after in zip(looked.commits, looked.commits[1:], strict=False):
        follows = after.number == before.number + 1
        evidence = [commit_key(name, before.number), commit_key(name, after.number)]
        if follows and after.first != before.position.seq + 1:
            told = f"commit {after.number} begins with entry {after.first}, but {before.position.seq} is before it"
            looked.findings.append(found("log-sequence", name, told, evidence, _RESTORE))
        if after.epoch < before.epoch:
            told = f"commit {after.number} has epoch {after.epoch} after epoch {before.epoch}: a fence did not hold"
            looked.findings.append(found("log-epoch", name, told, evidence, "Tell the maintainers of the store."))


async def _segments(documents: Documents, keys: LogKeys, looked: LogLooked) -> None:
    segments, by_number = Segments(documents, keys.name), {one.number: one for one in looked.commits}
    for number in keys.segments:
        key = segments.key(number)
        try:
            held = await segments.read(number)
        except CairnError as error:
            looked.findings.append(found("segment", key, str(error), [key]))
            continue
        wrong = [one.number for one in held or () if by_number.get(one.number, one) != one]
        if wrong or (held is not None and len(held) != SEGMENT):
            told = f"segment {number} of {log_prefix(keys.name)} holds another commit {wrong[0] if wrong else '?'}"
            looked.findings.append(found("segment", key, told, [key, commit_key(keys.name, wrong[0] if wrong else 1)]))
