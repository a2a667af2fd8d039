"""``AgentHandler``: the handler of a consumer that has agents do the work.

1. Take the record of the task over: from here on an earlier runner can write no more. *If it holds a report*, the work
   was done and only its answer was lost: do step 8, and return it.
2. Take the leases of the write scopes, or give the task back for a while.
3. *If the record names work that can be reached from here*, go on with it at step 6. *If not*, keep what its tree
   holds, and begin anew.
4. Make a tree and write it into the record.
5. Start the agent, which writes its handle into the record before it does anything. *A crash after it*: step 3.
6. Wait for its end; keep its transcript meanwhile.
7. See what changed, run the checks, keep the evidence, and write the report into the record. *A crash before it*: it is
   done again. *A crash after it*: step 1.
8. Put the tree away. *A crash before it*: step 1.
9. After the ack, remove the record. *A crash before it*: ``put_leftovers_away`` does it when a runner starts.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import structlog

from flowli.domain.data import Data
from flowli.domain.delegate import Delegate
from flowli.domain.errors import BackendError, Defer, FlowliError, LeaseLost, Retry
from flowli.runtime.consumer import DRAINING
from flowli_runner.agents import Running
from flowli_runner.contracts import Envelope, Outcome, Report, ResumeArtifact, from_data, to_data
from flowli_runner.git.names import attempt_name, repository_name
from flowli_runner.git.scopes import lease_names
from flowli_runner.process.launch import ProgramEnd
from flowli_runner.work.ending import end_work
from flowli_runner.work.masking import Masker
from flowli_runner.work.means import Means
from flowli_runner.work.outcome import INTERRUPTED
from flowli_runner.work.records import Record
from flowli_runner.work.reporting import Reporter
from flowli_runner.work.scopes import SCOPE_LOST, held_scopes

__all__ = ["AgentHandler"]

_log = structlog.get_logger("flowli.runner")
_LOOKS_PER_WATCH = 100


class AgentHandler:
    """See the module's docstring."""

    def __init__(self, means: Means) -> None:
        self._means = means

    async def __call__(self, delegate: Delegate) -> Data:
        """Do the work; returns a ``Report`` as data.

        Raises:
            ContractError: the payload is no ``Envelope``.
            UsageError: the runner has no such agent.
            Retry: somebody else works in the same write scopes.
        """
        means = self._means
        envelope = from_data(Envelope, delegate.payload, "envelope")
        name = means.config.agent_of(envelope.agent.name)
        masker = Masker(means.jobs.secrets(name))
        work = _Work(means, delegate, envelope, name, masker)
        try:
            return to_data(await work.run())
        except (Retry, Defer, BackendError, LeaseLost):
            raise
        except asyncio.CancelledError as stopped:
            current = asyncio.current_task()
            if SCOPE_LOST not in stopped.args or current is None:
                raise
            current.uncancel()
            raise Retry("a write scope was lost while the work went on") from None
        except Exception as error:
            # its text may hold what the agent was given
            raise FlowliError(masker.text(f"{type(error).__name__}: {error}")) from None

    async def done(self, delegate: Delegate) -> None:
        """Step 9."""
        await self._means.plane.records.clear(delegate.task_id)
        await self._means.plane.done(delegate)
        self._means.jobs.forget(delegate.task_id)


class _Work:
    """One delivery of one delegate."""

    def __init__(self, means: Means, delegate: Delegate, envelope: Envelope, agent: str, masker: Masker) -> None:
        self._means, self._delegate, self._envelope = means, delegate, envelope
        self._agent, self._name = means.agents[agent], agent
        self._masker = masker
        self._looks = 0
        self._unwanted = False
        self._kept: Reporter

    async def run(self) -> Report:
        means, task_id = self._means, self._delegate.task_id
        await means.plane.begin(self._delegate)
        found = await means.plane.records.take(task_id)
        if found is not None and found.report is not None:
            await means.jobs.put_away(found)
            return found.report
        async with self._scopes():
            if found is not None:
                report = await self._go_on(found)
                if report is not None:
                    return report
            return await self._begin(found)

    def _scopes(self) -> AbstractAsyncContextManager[None]:
        """Step 2."""
        means, repository = self._means, self._means.config.repository
        if not repository:
            return nullcontext()
        names = lease_names(repository_name(repository), self._envelope.write_scopes)
        holder = f"{means.site.worker_id}/{attempt_name(self._delegate.task_id, self._delegate.delivery)}"
        return held_scopes(means.plane.scopes, names, holder, means.world)

    async def _go_on(self, found: Record) -> Report | None:
        """Step 3; None if the work must begin anew."""
        if found.agent == self._name and found.handle:
            job = self._means.jobs.again(found.attempt, found.tree, self._name, self._envelope)
            running = self._agent.attach(job, json.loads(found.handle))
            if running is not None:
                _log.info("going on with the work of an earlier runner", attempt=found.attempt)
                self._means.jobs.adopt(found.attempt, self._delegate)
                end = await self._follow(found, running)
                if end.reason not in INTERRUPTED or self._unwanted:
                    return await self._finish(found, running, end)
        await end_work(self._means, found)
        await self._means.jobs.put_away(found)
        if found.attempts < self._means.config.max_attempts:
            return None
        report = Report(
            Outcome.INTERRUPTED,
            f"The work was interrupted {found.attempts} times and is not begun again.",
            resume=ResumeArtifact(ref=self._means.jobs.kept_ref(found)),
            base=found.base,
            branch=found.branch,
            attempt=found.attempt,
        )
        await self._means.plane.records.write(self._delegate.task_id, found.with_report(report))
        return report

    async def _begin(self, found: Record | None) -> Report:
        """Steps 4 and 5."""
        means, delegate = self._means, self._delegate
        envelope = self._envelope
        if found is not None and found.tree:
            note = f"An earlier attempt was interrupted. All of its files are in {means.jobs.kept_ref(found)}."
            envelope = replace(envelope, resume="\n".join(filter(None, (envelope.resume, note))))
        attempt = attempt_name(delegate.task_id, delegate.delivery)
        record, job = await means.jobs.make(attempt, delegate, self._name, envelope)
        record = replace(record, attempts=1 + (0 if found is None else found.attempts))
        await means.plane.records.write(delegate.task_id, record)
        known = record

        async def write_handle(handle: Data) -> None:
            nonlocal known
            known = replace(record, handle=json.dumps(handle))
            await means.plane.records.write(delegate.task_id, known)

        try:
            running = await self._agent.start(job, write_handle)
        except asyncio.CancelledError as stopped:
            if known.handle and await self._ends(stopped, known):
                await end_work(means, known)
            raise
        _log.info("begun", attempt=record.attempt, agent=self._name, task=delegate.task_id)
        return await self._finish(known, running, await self._follow(known, running))

    async def _follow(self, record: Record, running: Running) -> ProgramEnd:
        """Step 6."""
        reporter = self._reporter(record, running)
        try:
            end = await running.wait(lambda: self._look(reporter, running))
        except asyncio.CancelledError as stopped:
            if await self._ends(stopped, record):
                await running.stop()
            raise
        self._kept = reporter
        return end

    async def _ends(self, stopped: asyncio.CancelledError, record: Record) -> bool:
        """Whether work whose handler was cancelled must end with it.

        If nobody goes on with it yet it must: who takes the task next finds it ended, and begins anew.
        """
        # a cancel may lose its message on the way through a call of a port
        if DRAINING in stopped.args or self._means.leaving.is_set():
            _log.info("left to the next runner", attempt=record.attempt)
            return False
        return await self._mine()

    async def _mine(self) -> bool:
        try:
            return await self._means.plane.records.mine(self._delegate.task_id)
        except BackendError:
            return True  # it cannot be known, and two agents at one task are worse than one that begins anew

    async def _look(self, reporter: Reporter, running: Running) -> None:
        await reporter.look()
        self._looks += 1
        if self._looks % _LOOKS_PER_WATCH or self._unwanted:
            return
        if not await self._means.plane.wanted(self._delegate):
            _log.info("nobody waits for the work any more: it is ended", task=self._delegate.task_id)
            self._unwanted = True
            stopping = asyncio.ensure_future(running.stop())
            stopping.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _finish(self, record: Record, running: Running, end: ProgramEnd) -> Report:
        """Steps 7 and 8."""
        means = self._means
        job = means.jobs.again(record.attempt, record.tree, self._name, self._envelope)
        said = self._agent.said(job, running.output())
        report = await self._kept.report(end, said)
        await means.plane.records.write(self._delegate.task_id, record.with_report(report))
        await means.jobs.put_away(record)
        return report

    def _reporter(self, record: Record, running: Running) -> Reporter:
        means = self._means
        return Reporter(
            world=means.world,
            jobs=means.jobs,
            plane=means.plane,
            delegate=self._delegate,
            envelope=self._envelope,
            record=record,
            masker=self._masker,
            limit=means.config.max_evidence,
            transcript=Path(means.jobs.folder(record.attempt), "transcript"),
        )
