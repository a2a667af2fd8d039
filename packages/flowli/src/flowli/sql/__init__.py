"""flowli and the host's SQL database (extra ``sql``, SQLAlchemy): what belongs together is committed together.

``Outbox``: starts and signals that are part of a transaction of the host; ``Relay`` carries them out, each once.
``Inbox``: changes of executions in a table of the host, each once. ``Effects``: what steps write to it, each once.
``Tables`` are those of all three.
"""

from __future__ import annotations

try:
    import sqlalchemy as sqlalchemy
except ImportError:
    raise ImportError("flowli.sql needs SQLAlchemy, which is not installed. Run: pip install 'flowli[sql]'") from None

from flowli.sql.effects import Effects
from flowli.sql.inbox import Inbox
from flowli.sql.outbox import Outbox, OutboxRow
from flowli.sql.relay import Relay
from flowli.sql.tables import Tables

__all__ = ["Effects", "Inbox", "Outbox", "OutboxRow", "Relay", "Tables"]
