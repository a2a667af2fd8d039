"""The public names, which ``flowli.api`` shows as its own."""

from __future__ import annotations

from flowli_api.app import create_app
from flowli_api.auth.caching import CachingAuthenticator
from flowli_api.auth.grants import Grant
from flowli_api.auth.identity import Authenticator, Identity
from flowli_api.auth.keys import ApiKeyAuthenticator
from flowli_api.auth.oidc import OIDCAuthenticator
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig, OIDCLogin
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = [
    "ApiConfig",
    "ApiKeyAuthenticator",
    "ApiRouter",
    "Authenticator",
    "CachingAuthenticator",
    "Caller",
    "Grant",
    "Identity",
    "OIDCAuthenticator",
    "OIDCLogin",
    "Service",
    "ServiceOf",
    "StaticAuthenticator",
    "create_app",
    "requires",
]
