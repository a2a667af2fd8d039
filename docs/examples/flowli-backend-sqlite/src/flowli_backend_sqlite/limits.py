"""What holds for a queue in the whole fleet: paused, so many tasks at once, so many in a period."""

from __future__ import annotations

import sqlite3

from flowli.domain.tasks import QueueSettings
from flowli_backend_sqlite.bodies import unpack

_HELD = """
    SELECT count(*) FROM tasks WHERE queue = ? AND state = 'ready' AND holder IS NOT NULL
    AND changed_s <= ? AND ? - changed_s < ttl_s
"""


def settings_of(db: sqlite3.Connection, queue: str) -> QueueSettings:
    """What was configured last."""
    row = db.execute("SELECT body FROM queue_settings WHERE queue = ?", (queue,)).fetchone()
    return QueueSettings() if row is None else unpack(QueueSettings, row[0])


def room(db: sqlite3.Connection, queue: str, now_s: float, wanted: int) -> int:
    """How many of the wanted tasks may be taken now. Takes that count no more are forgotten on the way."""
    settings = settings_of(db, queue)
    values = (queue, now_s, now_s - settings.rate_period_s)
    db.execute("DELETE FROM takes WHERE queue = ? AND (at_s > ? OR at_s <= ?)", values)
    if settings.paused is not None:
        return 0
    if settings.rate is not None:
        (taken,) = db.execute("SELECT count(*) FROM takes WHERE queue = ?", (queue,)).fetchone()
        wanted = min(wanted, settings.rate - taken)
    if settings.concurrency is not None:
        (held,) = db.execute(_HELD, (queue, now_s, now_s)).fetchone()
        wanted = min(wanted, settings.concurrency - held)
    return max(wanted, 0)
