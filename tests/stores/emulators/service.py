"""What tests need to know of a cloud store, whichever it is."""

from collections.abc import Mapping
from dataclasses import dataclass

BUCKET = "flowli-tests"
PATIENT = "first_timeout_s=300&connect_timeout_s=60&read_timeout_s=120"
"""A host that runs many tests at once may stand still for seconds: an answer that comes late is an answer."""


@dataclass(frozen=True)
class Service:
    """An emulator that runs.

    Attributes:
        scheme: of its storage URLs.
        port: where it listens on 127.0.0.1.
        form: the storage URL with ``{prefix}`` and ``{origin}`` left open.
        credentials: environment variables by which its SDK is let in.
        bare_port: where the emulator itself listens, if something that mends it stands in front.
    """

    scheme: str
    port: int
    form: str
    credentials: Mapping[str, str]
    bare_port: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, prefix: str, *, origin: str = "") -> str:
        """The storage URL of a place of its own in the bucket of the tests, with patience.

        Args:
            prefix: where in the bucket.
            origin: scheme, host and port of what stands before the emulator.
        """
        return f"{self.form.format(prefix=prefix, origin=origin or self.origin)}&{PATIENT}"
