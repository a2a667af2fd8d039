"""``Finding``: one place in the source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One problem.

    Attributes:
        path: the file.
        line: from 1.
        column: from 1.
        code: ``FL001``, ...
        message: what is there, then what to write instead.
        function: the workflow or helper in which it stands.
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    function: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"
