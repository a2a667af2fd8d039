"""What is kept of long output: the first and the last of it, and never half a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowli import MemoryBackend, Site
from flowli.domain.delegate import Delegate
from flowli.world import SYSTEM
from flowli_runner.process.launch import after_gap, before_gap
from flowli_runner.work.evidence import Box, Stream
from flowli_runner.work.masking import MASK, Masker
from flowli_runner.work.plane import PortPlane

SECRET = "canary-4711-secret"


class Shelf:
    """A box over a bucket in memory."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self.ports = MemoryBackend(SYSTEM).ports
        self.eid = SYSTEM.uuid7()
        self.masker = Masker([SECRET])
        delegate = Delegate({}, task_id=f"DELEGATE:{self.eid}:root/a#1", eid=self.eid, delivery=2)
        self.box = Box(PortPlane(self.ports, "agents", Site("one"), SYSTEM), delegate, self.masker, limit)

    async def bodies(self) -> dict[str, bytes]:
        found = {ref.name: await self.ports.evidence.get(self.eid, ref.name) for ref in self.box.refs}
        return {name.rpartition("/")[2]: body or b"" for name, body in found.items()}


async def test_evidence_has_the_name_of_its_frame_and_delivery():
    shelf = Shelf()
    assert await shelf.box.put("diff", b"x") == "delegate-root~a=1.2.2/diff"


async def test_a_file_that_is_too_large_is_kept_by_its_beginning_and_its_end(tmp_path):
    shelf, path = Shelf(limit=1000), tmp_path / "large"
    path.write_bytes(b"".join(b"line %06d\n" % number for number in range(100_000)))
    await shelf.box.put_file("large", path)
    body = (await shelf.bodies())["large"]
    (ref,) = shelf.box.refs
    assert (ref.size_bytes, ref.cut) == (1_200_000, True)
    assert body.startswith(b"line 000000\n")
    assert body.endswith(b"line 099999\n")
    assert len(body) < 1100


def fed(path: Path, shelf: Shelf) -> Stream:
    return Stream(shelf.box, shelf.masker, path)


@pytest.mark.parametrize("line_end", [b"\n", b" "])
async def test_a_secret_that_lies_across_two_pieces_is_masked(tmp_path, line_end):
    """K49: in lines, and in a line that never ends."""
    shelf, path = Shelf(), tmp_path / "transcript"
    path.write_bytes((SECRET.encode() + line_end) * 40_000)
    stream = fed(path, shelf)
    await stream.look()
    await stream.end()
    kept = await shelf.bodies()
    assert len(kept) > 1
    assert b"".join(kept.values()) == (MASK.encode() + line_end) * 40_000
    assert not [body for body in kept.values() if b"canary" in body or b"secret" in body]


async def test_of_a_line_that_a_gap_cuts_nothing_is_kept(tmp_path):
    """K49: the head and the tail of an output that was too long hold half a secret each."""
    shelf, path = Shelf(), tmp_path / "transcript"
    path.write_bytes(b"begin\n" + SECRET.encode()[:10])
    (tmp_path / "transcript.tail").write_bytes(SECRET.encode()[10:] + b"\nend\n")
    await fed(path, shelf).end()
    assert await shelf.bodies() == {"transcript-00001": b"begin\n", "transcript-tail": b"end\n"}


def test_a_gap_in_one_long_line_takes_what_could_be_a_secret():
    assert before_gap(b"x" * 10_000) == b"x" * (10_000 - 8192)
    assert after_gap(b"x" * 10_000) == b"x" * (10_000 - 8192)
    assert before_gap(b"short") == after_gap(b"short") == b""


@pytest.mark.parametrize(
    "data",
    [b"ab " + SECRET.encode() + b" cd", b"token ghp_" + b"a1B2" * 9 + b" rest", b"https://user:password@host/x"],
)
def test_data_is_cut_beside_secrets(data: Any):
    masker = Masker([SECRET])
    whole = masker.body(data)
    for at in range(1, len(data)):
        cut = masker.cut(data, at)
        assert cut <= at
        if cut:
            assert b"canary-4711" not in masker.body(data[:cut]) + masker.body(data[cut:])
        assert masker.body(data[:cut]) + masker.body(data[cut:]) == whole or b"://" in data
