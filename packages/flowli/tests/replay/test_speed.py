"""How fast memoized frames are replayed; the figure is printed at the end of the run."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from flowli.domain.frames import FrameKind
from flowli.domain.retry import NO_RETRY
from flowli.runtime.context import Context
from flowli.runtime.replay.calls import FrameCall, RunStep
from flowli.testing.replay import new_session

from .live import execution_of, settle
from .programs import value

FRAMES = 5_000


async def through_the_context(ctx: Context, frames: int) -> None:
    for n in range(frames):
        await ctx.step(value, n)


async def of_the_session(ctx: Context, frames: int) -> None:
    session = ctx._session
    action = RunStep(value, {}, NO_RETRY, None, None)
    for _ in range(frames):
        await FrameCall(session, session.make("root", FrameKind.STEP, "value", "digest", action, lambda data: data))


def frames_per_second(fn: Callable[..., object]) -> float:
    """By the CPU time of this process, the best of three."""
    execution = execution_of(fn, FRAMES)
    session = new_session(fn, execution)
    session.begin()
    settle(session)
    while session.ending is None:
        session.complete(session.launches.popleft(), 1)
        settle(session)
    journal = session.take_buffer()
    best = 0.0
    for _ in range(3):
        again = new_session(fn, execution)
        again.load(journal)
        gc.collect()
        begun = time.process_time()
        settle(again)
        best = max(best, FRAMES / (time.process_time() - begun))
        assert again.ending == session.ending
    return best


def test_replaying_memoized_frames(record_property: Callable[[str, object], None]) -> None:
    session, context = frames_per_second(of_the_session), frames_per_second(through_the_context)
    record_property(
        "replay of memoized frames", f"{session:,.0f}/s by the session, {context:,.0f}/s through the context"
    )
    assert session > 8_000
    assert context > 4_000
