"""What plugins add to an engine: ``engine.reviews`` and its like, by the hook ``flowli_engine_extensions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from flowli.runtime.engine.base import EngineBase

__all__ = ["ExtensionVerbs"]

_ELSEWHERE = dict.fromkeys(("reviews", "schedules", "tick"), "flowli-patterns")


class ExtensionVerbs(EngineBase):
    """Attributes of an engine that plugins provide. Each is made when it is first read, and kept.

    Type checkers know those of flowli's own distributions.
    """

    if TYPE_CHECKING:
        from datetime import datetime

        from flowli.domain.ids import Eid
        from flowli.domain.provenance import Actor
        from flowli.patterns import Reviews, Schedules

        reviews: Reviews
        schedules: Schedules

        async def tick(self, name: str, window: datetime | None, *, actor: Actor | None = None) -> Eid:
            return await self.schedules.tick(name, window, actor=actor)

    else:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_"):
                raise AttributeError(f"an engine has no attribute {name!r}")
            made = _extension(name, dir(type(self)))(self)
            self.__dict__[name] = made
            return made


def _extension(name: str, verbs: list[str]) -> Callable[[EngineBase], object]:
    """What makes the extension of that name.

    Raises:
        AttributeError: no plugin provides it; says which distribution does, or which names are near.
    """
    from flowli._suggest import near
    from flowli.descriptors import EngineExtensionType
    from flowli.plugins import manager

    known = manager().all(EngineExtensionType)
    if name in known:
        return cast("Callable[[EngineBase], object]", known[name].load())
    if name in _ELSEWHERE:
        home = _ELSEWHERE[name]
        raise AttributeError(
            f"engine.{name} is provided by the {home} distribution, which is not installed. Run: pip install {home}"
        )
    public = [verb for verb in verbs if not verb.startswith("_")]
    raise AttributeError(f"an engine has no attribute {name!r}{near(name, [*known, *public]) or '.'}")
