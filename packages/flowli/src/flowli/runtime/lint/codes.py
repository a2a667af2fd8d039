"""The codes of ``flowli lint``."""

from __future__ import annotations

from collections.abc import Mapping

from flowli.runtime.guard.names import Reason

__all__ = ["BY_REASON", "CODES"]

CODES: Mapping[str, str] = {
    "FL000": "the file cannot be read as Python",
    "FL001": "reads the machine's clock",
    "FL002": "draws random numbers that a replay would not draw again",
    "FL003": "makes ids that a replay would not make again",
    "FL004": "draws secrets",
    "FL005": "blocks the worker, and forgets it after a crash",
    "FL006": "does input or output",
    "FL007": "uses threads, processes or the machine's event loop",
    "FL008": "asyncio.as_completed starts bare coroutines in random order",
    "FL009": "asyncio.wait_for is scheduled differently on Python 3.11 than later",
    "FL010": "a frame is made and never awaited",
    "FL011": "changes state that outlives the execution",
    "FL012": "reads what differs between machines",
    "FL013": "walks over a set, whose order differs between processes",
    "FL014": "uses a number that differs between processes",
    "FL015": "a future that asyncio numbers by its address",
}
"""What each code means."""

BY_REASON: Mapping[Reason, str] = {
    Reason.CLOCK: "FL001",
    Reason.CHANCE: "FL002",
    Reason.IDS: "FL003",
    Reason.SECRET: "FL004",
    Reason.SLEEP: "FL005",
    Reason.IO: "FL006",
    Reason.THREAD: "FL007",
    Reason.ORDER: "FL014",
}
"""The code of what the guard would refuse."""
