"""Values protected on their way to any backend: compression, encryption, offload of large ones.

``ValueCodec`` says how; ``coded`` (or ``ValueCodec.wrap``) puts it around the ports of a backend.
"""

from __future__ import annotations

from flowli.adapters.coded.codec import ValueCodec
from flowli.adapters.coded.compression import Zlib, Zstd
from flowli.adapters.coded.encryption import Encryption, KeyRing
from flowli.adapters.coded.ports import coded

__all__ = ["Encryption", "KeyRing", "ValueCodec", "Zlib", "Zstd", "coded"]
