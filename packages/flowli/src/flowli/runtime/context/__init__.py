"""``Context``: what workflow code is given as its first parameter.

Only frames have effects; everything else that a context offers is computed from the journal. A call such as
``ctx.step(f, x)`` makes a frame that can be awaited, or handed to ``asyncio.gather``, ``TaskGroup`` and the like.
"""

from __future__ import annotations

from flowli.runtime.context.context import Context
from flowli.runtime.context.leases import NamedLease
from flowli.runtime.context.streams import Stream
from flowli.runtime.context.updates import Update

__all__ = ["Context", "NamedLease", "Stream", "Update"]
