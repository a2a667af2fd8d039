"""Finishing: the code has ended and nothing of it is left under way.

1. Commit the terminal entry; it rides with the last outcomes. It is the release of the lease. *Crash after it*: the
   task is taken again; its worker sees the end and does the rest (``after_end``).
2. to 4. as in ``after_end``: parent and children, markers and timers, waiters of this process. *Crash after some*: the
   same.
5. Post the control twin; 6. when it is durable, ack the tasks (both by the worker).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.runtime.protocols.after_end import drop_timeout, spread_end
from flowli.runtime.protocols.suspend import tidy

if TYPE_CHECKING:
    from flowli.runtime.owner.owner import Owner

__all__ = ["finish"]


async def finish(owner: Owner) -> None:
    """Steps 1 to 4."""
    ending, services = owner.session.ending, owner.services
    assert ending is not None
    owner.sealed = True
    owner.session.append(ending)
    await owner.commits.flush()
    fold = owner.session.fold
    await owner.patiently(lambda: spread_end(services, owner.execution, fold, owner.by()))
    await owner.patiently(lambda: tidy(owner))
    await owner.patiently(lambda: drop_timeout(services, owner.execution))
    services.hub.ended(owner.execution, fold)
