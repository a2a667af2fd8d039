"""``Upload``: a call whose body is bytes and no JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from flowli_api.client.calls import Call

__all__ = ["Upload"]

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Upload(Call[M]):
    """A request that carries bytes.

    Attributes:
        content: its body.
        media_type: of the body.
        headers: beside those of every request.
    """

    content: bytes = b""
    media_type: str = "application/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
