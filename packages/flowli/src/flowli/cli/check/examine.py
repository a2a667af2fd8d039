"""Examining a whole bucket: list it, read it, compare. Writes nothing.

Processes may work on the bucket meanwhile, so that what was read first and what was read last need not fit together:
what does not hold is looked at once more, and only what still does not hold is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.boundary import LogBoundary
from flowli.cairn.errors import CairnError
from flowli.cairn.objects import Documents
from flowli.cli.check.contents import Contents, LogKeys, read_contents
from flowli.cli.check.executions import Looked, look_at_execution
from flowli.cli.check.finding import Finding, found
from flowli.cli.check.logs import LogLooked, look_at_log
from flowli.cli.check.waits import (
    look_at_claims,
    look_at_markers,
    look_at_tasks,
    look_at_waits,
    read_tasks,
)
from flowli.domain import keys
from flowli.domain.errors import BackendError
from flowli.domain.ids import Eid
from flowli.runtime.control_fold import ControlFold
from flowli.world import World

__all__ = ["Examined", "examine"]


@dataclass(slots=True)
class Examined:
    """What was found.

    Attributes:
        keys: objects in the bucket; ``logs`` and ``executions`` likewise.
        findings: what does not hold.
    """

    keys: int = 0
    logs: int = 0
    executions: dict[Eid, Looked] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


async def examine(backend: CairnBackend, world: World) -> Examined:
    """Examine the bucket; what does not hold is looked at twice."""
    first = await _once(backend, world)
    if first.findings:
        again = await _once(backend, world)
        again.findings = sorted(set(first.findings) & set(again.findings))
        return again
    return first


async def _once(backend: CairnBackend, world: World) -> Examined:
    documents, contents = Documents(backend.store, world), await read_contents(backend.store)
    examined = Examined(len(contents.keys), len(contents.logs))
    findings = examined.findings
    findings += [
        found("key", key, "it is no key of the layout", [key], "Find out what else writes to this bucket.")
        for key in contents.strange
    ]
    logs = {name: await _log(documents, contents, one) for name, one in contents.logs.items()}
    findings += [finding for log in logs.values() for finding in log.findings]
    control = ControlFold()
    try:
        await control.catch_up(backend.ports.control)
    except (BackendError, CairnError) as error:
        findings.append(found("readable", keys.CONTROL_LOG, f"the control log cannot be read: {error}"))
    for eid in contents.executions():
        log = logs.get(keys.journal_log(eid), LogLooked())
        examined.executions[eid] = await look_at_execution(backend.ports, contents, eid, log, control)
    await _moving(backend, world, documents, contents, examined)
    findings += [finding for looked in examined.executions.values() for finding in looked.findings]
    findings.sort()
    return examined


async def _log(documents: Documents, contents: Contents, log: LogKeys) -> LogLooked:
    """A journal whose execution is archived may be on its way out; another log is trimmed up to its boundary."""
    eid = log.name.removeprefix("wf.exec.")
    if contents.under(f"{keys.ARCHIVE}{eid}.msgpack"):
        return await look_at_log(documents, log, trimmed=max(log.commits, default=0))
    boundary = await LogBoundary(documents, log.name).read()
    return await look_at_log(documents, log, trimmed=0 if boundary is None else boundary.commit)


async def _moving(
    backend: CairnBackend, world: World, documents: Documents, contents: Contents, examined: Examined
) -> None:
    ports, executions = backend.ports, examined.executions
    tasks = await read_tasks(documents, contents)
    examined.findings += tasks.findings
    for looked in executions.values():
        await look_at_waits(ports, looked, tasks, executions, world.now())
    examined.findings += await look_at_markers(documents, contents, executions)
    examined.findings += look_at_tasks(tasks, executions)
    examined.findings += await look_at_claims(ports, contents, executions, tasks)
