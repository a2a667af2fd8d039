"""``ApiConfig``: the settings of the HTTP service, checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields

from flowli.domain.errors import UsageError

__all__ = ["ApiConfig", "OIDCLogin"]


@dataclass(frozen=True, slots=True)
class OIDCLogin:
    """What a browser needs to log in: public facts, shown to everyone by ``GET /v1/config``.

    Attributes:
        issuer: URL of the identity provider.
        client_id: of the interface at that provider (a public client with PKCE).
        scope: what the interface asks for.
        audience: sent with the login where the provider wants it.
    """

    issuer: str
    client_id: str
    scope: str = "openid profile email"
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """Settings of one service. Processes behind one balancer should have the same.

    Attributes:
        max_body_bytes: largest body of a request.
        page_size: rows of a page unless the request says otherwise; ``max_page_size`` the most it may ask for.
        max_bulk: the most executions that one bulk action touches.
        max_wait_s: longest that a request waits for a result, an answer, a task or a sequence number, in seconds.
        rate_per_s: requests a second and caller, with ``rate_burst`` at once; None for no limit.
        max_streams: event streams open at once in this process.
        poll_s: how often this process looks for news while a stream is open.
        fresh_s: lists are at most so many seconds behind the bucket.
        heartbeat_s: a silent stream says so often that it lives.
        cors_origins: web origins that may call the service from a browser; ``*`` is refused.
        allowed_hosts: host names under which the service answers; empty for any.
        root_path: the path under which a proxy shows the service.
        hsts_s: seconds for ``Strict-Transport-Security``; 0 sends none. Set it only behind TLS.
        secret: signs the tokens of the worker plane, at least 32 characters; None takes one that is kept in the bucket.
        oidc: how the interface logs in; None for a token only.
        interface: serve the operator interface at ``/`` if it was built.

    Raises:
        UsageError: a setting that cannot work.
    """

    max_body_bytes: int = 1_048_576
    page_size: int = 50
    max_page_size: int = 200
    max_bulk: int = 500
    max_wait_s: float = 30.0
    rate_per_s: float | None = 100.0
    rate_burst: int = 400
    max_streams: int = 1000
    poll_s: float = 0.5
    fresh_s: float = 0.25
    heartbeat_s: float = 15.0
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    root_path: str = ""
    hsts_s: int = 0
    secret: str | None = None
    oidc: OIDCLogin | None = None
    interface: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            least = 0 if field.name in ("hsts_s", "fresh_s") else 1e-9
            if not value >= least:
                raise UsageError(f"{field.name} is {value}; it must be {'at least 0' if least == 0 else 'positive'}")
        if "*" in self.cors_origins:
            raise UsageError(
                "cors_origins holds '*', which would let every page act for whoever opens it; name origins"
            )
        if self.secret is not None and len(self.secret) < 32:
            raise UsageError("secret is too short to be safe; use at least 32 characters")
        if self.root_path and (not self.root_path.startswith("/") or self.root_path.endswith("/")):
            raise UsageError(f"root_path is {self.root_path!r}; write it as /flowli, without a slash at the end")
