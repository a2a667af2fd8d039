"""Secrets out of whatever is kept or told: the values that the runner knows, and what has the shape of a token."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

__all__ = ["MASK", "Masker", "secret_values"]

MASK = "[masked]"

_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE|AUTH|_KEY$", re.IGNORECASE)
_SHORTEST = 6
_SHAPES = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    rb"|\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,})"
    rb"|\bsk-[A-Za-z0-9_-]{20,}"
    rb"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    rb"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    rb"|\bAIza[A-Za-z0-9_-]{35}"
    rb"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    rb"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    rb"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{12,}",
    re.DOTALL,
)


class Masker:
    """Masks known values, in the forms in which programs print them, and common shapes of tokens.

    Args:
        values: the secrets that are known.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms: set[bytes] = set()
        for value in values:
            for line in {value, *value.splitlines()}:
                if len(line.strip()) >= _SHORTEST:
                    plain = line.strip()
                    forms |= {plain.encode(), quote(plain, safe="").encode(), json.dumps(plain)[1:-1].encode()}
        longest_first = sorted(forms, key=lambda one: (-len(one), one))
        self._known = re.compile(b"|".join(map(re.escape, longest_first))) if forms else None

    def body(self, data: bytes) -> bytes:
        """The same without secrets."""
        found = data if self._known is None else self._known.sub(MASK.encode(), data)
        return _SHAPES.sub(MASK.encode(), found)

    def text(self, text: str) -> str:
        """The same without secrets."""
        return self.body(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def cut(self, data: bytes, at: int) -> int:
        """Where data may be cut in two at or before ``at`` so that no secret stands on both sides."""
        for pattern in filter(None, (self._known, _SHAPES)):
            for found in pattern.finditer(data):
                if found.start() < at < found.end():
                    at = found.start()
        return at

    def whole_part(self, data: bytes) -> int:
        """How much of a stream that goes on can be masked by itself: whole lines, and no half of a private key."""
        end = data.rfind(b"\n") + 1
        begun = data.rfind(b"-----BEGIN ", 0, end)
        if begun >= 0 and b"PRIVATE KEY-----" in data[begun:end] and b"-----END " not in data[begun:end]:
            end = begun
        return end


def secret_values(env: Mapping[str, str], passed: Iterable[str]) -> list[str]:
    """The values of an environment that must not be told: those that were passed on, and those whose names say so."""
    taken = set(passed)
    return [value for name, value in env.items() if name in taken or _SECRET_NAME.search(name)]
