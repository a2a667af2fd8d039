"""``Addresses``: which methods an address takes, for the answer 405. The framework names those of one route only."""

from __future__ import annotations

import re

from fastapi.routing import APIRouter

from flowli_api.routing import ApiRoute

__all__ = ["Addresses"]

_PARAMETER = re.compile(r"\\\{\w+(:path)?\\\}")


class Addresses:
    """The addresses of a service."""

    def __init__(self) -> None:
        self._known: list[tuple[re.Pattern[str], frozenset[str]]] = []

    def add(self, router: APIRouter, prefix: str) -> None:
        """Take in the routes of a router, those of routers within it too."""
        for route in router.routes:
            inner = getattr(route, "original_router", None)
            if isinstance(inner, APIRouter):
                context = getattr(route, "include_context", None)
                self.add(inner, prefix + str(getattr(context, "prefix", "")))
            elif isinstance(route, ApiRoute):
                text = re.escape(prefix + route.path)
                pattern = _PARAMETER.sub(lambda found: ".+" if found[1] else "[^/]+", text)
                self._known.append((re.compile(pattern), frozenset(route.methods or ())))

    def methods(self, path: str) -> list[str]:
        """The methods that an address takes, in order; empty if there is no such address."""
        return sorted({method for pattern, methods in self._known if pattern.fullmatch(path) for method in methods})
