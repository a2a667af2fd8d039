"""Routes that plugins bring (hook ``flowli_api_routers``): loaded, checked, put under their prefix."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.routing import APIRouter

from flowli.descriptors import ApiRouterType
from flowli.plugins import PluginError, manager
from flowli_api.addresses import Addresses
from flowli_api.routing import ApiRoute

__all__ = ["include"]


def include(app: FastAPI, prefix: str, addresses: Addresses) -> tuple[str, ...]:
    """Add the routers of all plugins below ``{prefix}/{name}``; returns their names.

    Raises:
        PluginError: one is no router, or a route of it does not say what it requires.
    """
    loaded = manager().load_each(ApiRouterType)
    for name, router in loaded.items():
        if not isinstance(router, APIRouter):
            raise PluginError(
                f"The API router {name!r} loads a {type(router).__name__}; return a flowli.api.ApiRouter."
            )
        _check(name, router)
        app.include_router(router, prefix=f"{prefix}/{name}")
        addresses.add(router, f"{prefix}/{name}")
    return tuple(loaded)


def _check(name: str, router: APIRouter) -> None:
    for route in router.routes:
        inner = getattr(route, "original_router", None)  # a router within the router
        if isinstance(inner, APIRouter):
            _check(name, inner)
        elif not isinstance(route, ApiRoute):
            path = getattr(route, "path", type(route).__name__)
            raise PluginError(
                f"Route {path} of the API router {name!r} does not say what it requires. Make the router with "
                "flowli.api.ApiRouter and mark the route with @requires(...)."
            )
