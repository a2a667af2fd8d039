"""``Guard``: who calls, what they may do, how often they may ask."""

from __future__ import annotations

from collections import OrderedDict

from starlette.requests import Request

from flowli.world import World
from flowli_api.auth.identity import Authenticator, Identity
from flowli_api.config import ApiConfig
from flowli_api.problems import Problem

__all__ = ["Guard"]

_KNOWN = "*"
_REMEMBERED = 10_000


class Guard:
    """Checks requests.

    Args:
        authenticator: tells who holds a token.
        config: the limits.
        world: the clock of the limits.
    """

    def __init__(self, authenticator: Authenticator, config: ApiConfig, world: World) -> None:
        self._authenticator = authenticator
        self._rate, self._burst = config.rate_per_s, config.rate_burst
        self._world = world
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def admit(self, request: Request, capability: str) -> Identity:
        """Who makes this request, if they may.

        Args:
            capability: what the route needs; ``{queue}`` in it is filled in from the path.

        Raises:
            Problem: ``unauthenticated``, ``forbidden`` or ``rate_limited``.
        """
        identity = await self._known(request)
        self.limit(identity.actor.id)
        if capability != _KNOWN:
            self.check(identity, capability.format_map(request.path_params))
        return identity

    @staticmethod
    def check(identity: Identity, capability: str) -> None:
        """Refuse a caller without a capability.

        Raises:
            Problem: ``forbidden``, naming what is missing.
        """
        if not identity.may(capability):
            raise Problem("forbidden", f"This needs the capability '{capability}', which the caller does not hold.")

    def limit(self, who: str) -> None:
        """Count a request of somebody.

        Raises:
            Problem: ``rate_limited``.
        """
        if self._rate is None:
            return
        now_s = self._world.monotonic_s()
        left, at_s = self._buckets.pop(who, (float(self._burst), now_s))
        left = min(float(self._burst), left + (now_s - at_s) * self._rate)
        self._buckets[who] = (max(0.0, left - 1), now_s)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = str(max(1, round((1 - left) / self._rate)))
            raise Problem("rate_limited", f"More than {self._rate:g} requests a second; wait.", {"retry-after": wait})

    async def _known(self, request: Request) -> Identity:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            self._strange(request)
            raise _refused("Send a token: Authorization: Bearer ...")
        identity = await self._authenticator.authenticate(token)
        if identity is None or (identity.expires_at is not None and identity.expires_at <= self._world.now()):
            self._strange(request)
            raise _refused("The token is not valid; log in again.")
        return identity

    def _strange(self, request: Request) -> None:
        """A request without a valid token counts for its address, so that guessing is slow."""
        self.limit(f"address:{request.client.host if request.client else ''}")


def _refused(detail: str) -> Problem:
    return Problem("unauthenticated", detail, {"www-authenticate": 'Bearer realm="flowli"'})
