"""The base of what comes in and of what goes out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["In", "Out"]


class In(BaseModel):
    """A body of a request. A field that is not described is refused: an actor in a body, for one."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Out(BaseModel):
    """A body of an answer."""

    model_config = ConfigDict(frozen=True)
