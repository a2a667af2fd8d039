"""Known bugs, one at a time: each is a patch of production code that the simulator must find.

They are kinds seen in engines of this design. A mutation names the invariants of which at least one must be
violated, and the workloads that meet it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from flowli.adapters.cairndb.channel import CairnChannel
from flowli.adapters.cairndb.journal import CairnJournal
from flowli.adapters.cairndb.ownership import CairnOwnership
from flowli.cairn.write import Lost, Unknown, Won
from flowli.domain.entries import FrameCompleted
from flowli.domain.errors import BackendUnavailable, OutcomeUnknown
from flowli.domain.ports import Acquired, Appended
from flowli.runtime.owner import listener, waits
from flowli.runtime.owner.channels import ChannelReader
from flowli.runtime.owner.launcher import Launcher
from flowli.runtime.protocols import fire as fire_module
from flowli.runtime.protocols import run, suspend
from flowli.runtime.replay.session import Session
from flowli.runtime.worker import executions
from flowli.runtime.worker.active import Active
from flowli.runtime.worker.closing import Closing
from flowli.runtime.worker.renewal import LeaseGuard, _Guard

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutation:
    """A planted bug, and where to look for it.

    Attributes:
        finds: the invariants that may name it.
        faults: that are tried one by one; none for storms. In ``a+b`` the second strikes soon after the first.
        at: verb and key of the operations at which they strike, as a pattern.
        order: of the TTLs.
    """

    name: str
    patch: Patch
    finds: tuple[str, ...]
    workloads: tuple[str, ...]
    faults: tuple[str, ...] = ()
    at: str = ""
    order: str = "ttl"


MUTATIONS: list[Mutation] = []
COMMIT, CONTROL, MESSAGE, MARKER = "create logs/wf.exec", "create logs/wf/", "create logs/wf.ch", "wf/waits"


def mutation(
    finds: str, workloads: str, faults: str = "", at: str = "", order: str = "ttl"
) -> Callable[[Patch], Patch]:
    def register(patch: Patch) -> Patch:
        name = patch.__name__.replace("_", " ")
        MUTATIONS.append(
            Mutation(name, patch, tuple(finds.split()), tuple(workloads.split()), tuple(faults.split()), at, order)
        )
        return patch

    return register


@mutation("S2 S3 S7 S10", "pause steps", "freeze-long freeze-between", f"{COMMIT}|wf/exec|swap wf/queues")
def the_fence_is_dropped(patch: pytest.MonkeyPatch) -> None:
    whole = CairnJournal.append

    async def append(self: CairnJournal, eid: Any, entries: Any, *, after: Any, epoch: int, writer: str) -> Any:
        while True:
            result = await whole(self, eid, entries, after=after, epoch=epoch, writer=writer)
            if isinstance(result, Appended):
                return result
            after = result.position

    patch.setattr(CairnJournal, "append", append)


@mutation("S3", "steps cancel children", "die-before die-after", CONTROL)
def tasks_are_acked_before_the_control_commit(patch: pytest.MonkeyPatch) -> None:
    whole = Closing.close

    def close(self: Closing, guard: Any, fate: Any) -> None:
        whole(self, guard, replace(fate, after=()) if hasattr(fate, "after") else fate)

    patch.setattr(Closing, "close", close)
    # the sweeper repairs what is missing; without it the loss shows
    from flowli.runtime.sweeper import Sweeper

    async def nothing(self: Sweeper, report: Any) -> None:
        return None

    patch.setattr(Sweeper, "_check", nothing)


@mutation("S1 S2 S3 S4 S6 S7 L2 L1", "steps receive keyed send", "late vanish echo refuse", "create|swap")
def an_unknown_write_is_taken_for_won(patch: pytest.MonkeyPatch) -> None:
    from flowli.testing.sim.bucket import SimStore

    whole = SimStore._carry

    async def carry(self: SimStore, operation: Any, apply: Any, *, write: bool) -> Any:
        result = await whole(self, operation, apply, write=write)
        return Won("unknown") if isinstance(result, Unknown) else result

    patch.setattr(SimStore, "_carry", carry)


@mutation("S7", "steps pause parallel", "freeze-between freeze-long", COMMIT)
def steps_start_after_the_lease_has_expired(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Guard, "check", lambda self: None)
    patch.setattr(LeaseGuard, "expired", property(lambda self: False))


@mutation("S3 S4 S5 L2", "parallel", "refuse", "", "always-replay")
def a_memo_is_returned_at_once(patch: pytest.MonkeyPatch) -> None:
    from flowli.runtime.replay.recorded import Recorded

    whole, memos = Session.enter, {}
    extend = Recorded.extend

    def remember(self: Recorded, entries: Any) -> None:
        found = tuple(entries)
        memos[id(self)] = {e.body.fid: e.body.value for e in found if isinstance(e.body, FrameCompleted)}
        extend(self, found)

    def enter(self: Session, frame: Any) -> Any:
        future = whole(self, frame)
        known = memos.get(id(self._recorded), {})
        if frame.fid in known and not future.done():
            future.set_result(frame.decode(known[frame.fid]))
        return future

    patch.setattr(Recorded, "extend", remember)
    patch.setattr(Session, "enter", enter)


@mutation("L1 L2", "receive send", "slow late", f"{MARKER}|{MESSAGE}")
def nobody_looks_again_before_suspending(patch: pytest.MonkeyPatch) -> None:
    async def look(self: ChannelReader) -> None:
        return None

    patch.setattr(ChannelReader, "look", look)
    _no_audit(patch)


def _no_audit(patch: pytest.MonkeyPatch) -> None:
    from flowli.runtime import sweeper

    async def nothing(*args: Any, **kwargs: Any) -> Any:
        from flowli.runtime.protocols.audit import Audited

        return Audited()

    patch.setattr(sweeper, "audit", nothing)


@mutation("L1 L2", "receive chatter send", "slow slow-long refuse", f"{MARKER}|{MESSAGE}|{COMMIT}", "always-replay")
def the_marker_is_written_after_the_last_look(patch: pytest.MonkeyPatch) -> None:
    whole_mark, whole_release = suspend.mark, suspend.release

    async def later(*args: Any) -> None:
        return None

    async def release(found: Any, on: Any) -> None:
        await asyncio.sleep(0.02)
        await whole_mark(found)
        await whole_release(found, on)

    patch.setattr(suspend, "mark", later)
    patch.setattr(suspend, "release", release)
    _no_audit(patch)


@mutation("S1 L2", "keyed", "slow refuse", "wf/dispatch")
def a_claim_is_made_of_two_writes(patch: pytest.MonkeyPatch) -> None:
    from flowli.testing.sim.bucket import SimStore

    whole = SimStore.put

    async def put(self: SimStore, key: str, data: bytes, *, if_absent: bool = False, **more: Any) -> Any:
        if if_absent and key.startswith("wf/dispatch/"):
            return Lost() if await self.get(key) is not None else await whole(self, key, data)
        return await whole(self, key, data, if_absent=if_absent, **more)

    patch.setattr(SimStore, "put", put)


@mutation("L1 L2", "turns", "slow slow-long freeze-short", "delete wf/waits", "always-replay")
def wait_markers_are_deleted_without_condition(patch: pytest.MonkeyPatch) -> None:
    whole = CairnChannel.unmark

    async def unmark(self: CairnChannel, channel: str, eid: Any, *, up_to_epoch: int) -> bool:
        return await whole(self, channel, eid, up_to_epoch=1_000_000)

    patch.setattr(CairnChannel, "unmark", unmark)
    _no_audit(patch)


@mutation("S3 S8", "send", "refuse vanish outage", f"{MESSAGE}|{MARKER}", "patient")
def a_storage_error_is_an_outcome(patch: pytest.MonkeyPatch) -> None:
    from flowli import codec
    from flowli.runtime.owner.events import EffectDone
    from flowli.runtime.protocols.retry import Failed

    whole = Launcher._effect

    async def effect(self: Launcher, frame: Any, perform: Any) -> None:
        async def once() -> Any:
            try:
                return await perform()
            except (BackendUnavailable, OutcomeUnknown) as error:
                self._tell(EffectDone(frame, Failed(codec.error_info(error), retryable=False, retry_at=None)))
                await asyncio.get_running_loop().create_future()

        await whole(self, frame, once)

    patch.setattr(Launcher, "_effect", effect)


@mutation("S5 S7", "steps pause parallel", "slow", COMMIT)
def effects_do_not_wait_for_the_barrier(patch: pytest.MonkeyPatch) -> None:
    whole = Launcher.hold

    def hold(self: Launcher, frame: Any) -> None:
        frame.need = 0
        whole(self, frame)

    patch.setattr(Launcher, "hold", hold)


@mutation("S2 S3 S7 S10", "chatter send turns", "slow freeze-short freeze-between", f"{COMMIT}|{MESSAGE}")
def a_lease_that_another_holds_is_taken_for_ones_own(patch: pytest.MonkeyPatch) -> None:
    whole = CairnOwnership.acquire

    async def acquire(self: CairnOwnership, eid: Any, holder: Any, ttl_s: float, **options: Any) -> Any:
        got = await whole(self, eid, holder, ttl_s, **options)
        return got if isinstance(got, Acquired) else Acquired(got.lease)

    patch.setattr(CairnOwnership, "acquire", acquire)


@mutation("L1 L2", "timeouts pause", "die-before die-after refuse", "RESUME|wf/timers")
def a_timer_is_deleted_before_its_resume_is_durable(patch: pytest.MonkeyPatch) -> None:
    whole = fire_module.fire

    async def fire(services: Any, timer: Any, by: Any) -> None:
        await services.ports.timers.cancel(timer)
        await whole(services, timer, by)

    from flowli.runtime import sweeper

    patch.setattr(sweeper, "fire", fire)
    _no_audit(patch)


@mutation("S2 S3 S4 S7 S10", "long", "slow-long+die-before slow-long+die-after", COMMIT)
def an_unclean_takeover_is_not_journaled_first(patch: pytest.MonkeyPatch) -> None:
    async def take_over(services: Any, looked: Any, epoch: int, reasons: Any) -> Any:
        return looked.entries, looked.position

    patch.setattr(executions, "take_over", take_over)


@mutation("L1 L2", "steps children timeouts", "die-before die-after", COMMIT)
def what_carries_an_execution_is_acked_unread(patch: pytest.MonkeyPatch) -> None:
    whole = run.look

    async def look(ports: Any, task: Any, codes: Any, **options: Any) -> Any:
        looked = await whole(ports, task, codes, **options)
        if looked.verdict is run.Verdict.RUN and looked.fold is not None and run.is_journaled(task, looked.fold):
            return replace(looked, verdict=run.Verdict.NOTHING)
        return looked

    patch.setattr(executions, "look", look)
    _no_recovery(patch)


def _no_recovery(patch: pytest.MonkeyPatch) -> None:
    from flowli.runtime.sweeper import Sweeper

    async def nothing(self: Sweeper, report: Any) -> None:
        return None

    patch.setattr(Sweeper, "_check", nothing)


@mutation("L1 L2", "chatter timeouts")
def a_task_shares_the_fate_of_another(patch: pytest.MonkeyPatch) -> None:
    def end(self: Active, fate: Any) -> None:
        self.done.set_result(fate)
        for waiting in self.joined.values():
            self._settle(waiting, fate)
        self.joined.clear()

    patch.setattr(Active, "end", end)
    _no_audit(patch)


@mutation("L1 L2 S3", "cancel", "die-before", COMMIT)
def requests_are_cleared_before_their_entry_is_durable(patch: pytest.MonkeyPatch) -> None:
    whole, under_way = listener.Listener._apply, set()

    def apply(self: Any, request: Any) -> None:
        guard, ports = self._owner.guard, self._owner.services.ports
        guard.done_with(request.id)
        renewing = asyncio.ensure_future(guard.renew(ports))
        under_way.add(renewing)
        renewing.add_done_callback(under_way.discard)
        whole(self, request)

    patch.setattr(listener.Listener, "_apply", apply)


@mutation("S6 S4", "receive send", "refuse", MESSAGE)
def a_message_is_consumed_twice(patch: pytest.MonkeyPatch) -> None:
    whole = waits.Waits.match

    def match(self: Any) -> Any:
        found = whole(self)
        if found is not None:
            frame, message = found
            for view in self._views.values():
                if frame in view.waiting:
                    view.unread.insert(0, message)
        return found

    patch.setattr(waits.Waits, "match", match)


@mutation("S3 S2", "receive steps cancel", "die-before die-after vanish", "delete wf/queues|create logs/wf/")
def an_execution_that_has_ended_is_taken_over(patch: pytest.MonkeyPatch) -> None:
    whole = run.look

    async def look(*args: Any, **options: Any) -> Any:
        looked = await whole(*args, **options)
        return replace(looked, verdict=run.Verdict.RUN) if looked.verdict is run.Verdict.ENDED else looked

    patch.setattr(executions, "look", look)
