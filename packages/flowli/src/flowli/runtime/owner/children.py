"""Starting a child."""

from __future__ import annotations

from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry
from flowli.domain.execution import Execution
from flowli.domain.ids import FrameRef
from flowli.runtime.limits import check_size
from flowli.runtime.observe.spans import start_work
from flowli.runtime.protocols.start import created, put_start
from flowli.runtime.replay.calls import LiveFrame, StartChild
from flowli.runtime.services import Services

__all__ = ["start_child"]


async def start_child(services: Services, parent: Execution, frame: LiveFrame, action: StartChild) -> Data:
    """Put the child's START and record; its id is derived from the frame, so that doing it twice starts one child.

    Raises:
        PayloadTooLarge: its arguments are over the limit.
    """
    check_size(f"what child '{action.workflow}' is given", action.args, services.config.max_value_bytes)
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
    with services.observers.tracer.around(start_work(child, parent.created_by.trace, parent.eid)) as span:
        by = replace(by, trace=span.trace)
        child = replace(child, created_by=by)
        await put_start(services.ports, child, by)
    services.announcer.post([ControlEntry(created(child), by)])
    services.hub.wake_queue(child.queue)
    return None
