"""``MemoryBackend``: the ten ports written directly in memory, the reference for whoever writes a backend.

Nothing in it is clever: dictionaries, one file a port. ``await turn()`` stands wherever a real backend would wait for
its storage, so that tests see the same races; between two of them nothing else runs, which is what a conditional write
of a real storage gives.
"""

from __future__ import annotations

from flowli.adapters.memory.backend import MemoryBackend

__all__ = ["MemoryBackend"]
