"""The operator interface: static files, built into the wheel, served at ``/``."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

__all__ = ["Interface", "NotBuilt", "built"]

_FOLDER = Path(__file__).parent / "static"
_NOT_BUILT = (
    "The operator interface was not built into this installation of flowli-api; install its wheel, or build it in a "
    "checkout with a reachable npm registry. The service itself is under /v1.\n"
)
_FOREVER = "public, max-age=31536000, immutable"


def built() -> Path | None:
    """Where the built interface is; None if it was not built."""
    return _FOLDER if (_FOLDER / "index.html").is_file() else None


class NotBuilt(Router):
    """What stands at ``/`` where the interface was not built: one sentence for who looks for it."""

    def __init__(self) -> None:
        super().__init__([Route("/", _not_built)])


async def _not_built(request: Request) -> Response:
    return PlainTextResponse(_NOT_BUILT, status_code=404)


class Interface(StaticFiles):
    """Files of the interface. A path without a dot is a view of the interface: its page finds out which."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file under a path, or the page."""
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or "." in path.rpartition("/")[2] or path.startswith("v1"):
                raise
            response = await super().get_response("index.html", scope)
        # names of assets hold a digest of their content; the page names them and must be fresh
        response.headers["cache-control"] = _FOREVER if path.startswith("assets/") else "no-cache"
        return response
