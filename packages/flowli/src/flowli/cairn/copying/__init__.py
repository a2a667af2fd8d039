"""Moving a whole installation from one store to another: resumable, verified, safe while it runs.

``Move`` is the procedure; ``manifest`` what it remembers in the target, ``sweep`` one pass over all keys, ``holders``
who still works on the source.
"""

from __future__ import annotations

from flowli.cairn.copying.move import Move, Moved

__all__ = ["Move", "Moved"]
