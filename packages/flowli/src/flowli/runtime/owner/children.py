"""Starting children and asking them to cancel."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry
from flowli.domain.errors import NotAllowed, UnknownExecution
from flowli.domain.execution import Execution, ParentClose
from flowli.domain.ids import Eid, FrameRef
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.cancel import cancel
from flowli.runtime.protocols.start import created, put_start
from flowli.runtime.replay.calls import LiveFrame, StartChild
from flowli.runtime.services import Services

__all__ = ["ask_child_to_cancel", "close_child", "start_child"]


async def start_child(services: Services, parent: Execution, frame: LiveFrame, action: StartChild) -> Data:
    """Put the child's START and record; its id is derived from the frame, so that doing it twice starts one child."""
    by = replace(services.provenance(), at=frame.started_at or parent.created_at)
    child = Execution(
        eid=action.eid,
        workflow=action.workflow,
        version=action.version,
        args=action.args,
        created_by=by,
        queue=action.queue or parent.queue,
        priority=parent.priority,
        parent=FrameRef(parent.eid, frame.fid),
        parent_queue=parent.queue,
        on_parent_close=action.on_parent_close,
        timeout_s=action.timeout_s,
    )
    await put_start(services.ports, child, by)
    services.announcer.post([ControlEntry(created(child), by)])
    services.hub.wake_queue(child.queue)
    return None


async def close_child(services: Services, child: Eid, parent: Eid, by: Provenance) -> None:
    """The parent has ended: ask a child that still runs to cancel, unless it was started to outlive its parent."""
    record = await services.ports.executions.get(child)
    if record is not None and record.on_parent_close is ParentClose.CANCEL:
        await _ask(services, child, f"parent:{parent}", f"its parent {parent} ended", by)


async def ask_child_to_cancel(services: Services, parent: Execution, child: Eid, reason: str) -> None:
    """The parent no longer waits for a child."""
    await _ask(services, child, f"parent:{parent.eid}", reason, services.provenance())


async def _ask(services: Services, child: Eid, request: str, reason: str, by: Provenance) -> None:
    with contextlib.suppress(NotAllowed, UnknownExecution):
        await cancel(services.ports, services.hub, child, request=request, reason=reason, by=by)
