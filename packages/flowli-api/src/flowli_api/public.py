"""The public names, which ``flowli.api`` shows as its own."""

from __future__ import annotations

from flowli_api.app import create_app
from flowli_api.auth.caching import CachingAuthenticator
from flowli_api.auth.grants import Grant
from flowli_api.auth.identity import Authenticator, Identity
from flowli_api.auth.keys import ApiKeyAuthenticator
from flowli_api.auth.oidc import OIDCAuthenticator
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.bill import Bill
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.blocking import Client
from flowli_api.client.consumer import RemoteConsumer
from flowli_api.client.errors import ApiError
from flowli_api.config import ApiConfig, OIDCLogin
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = [
    "ApiConfig",
    "ApiError",
    "ApiKeyAuthenticator",
    "ApiRouter",
    "AsyncClient",
    "Authenticator",
    "Bill",
    "CachingAuthenticator",
    "Caller",
    "Client",
    "Grant",
    "Identity",
    "OIDCAuthenticator",
    "OIDCLogin",
    "RemoteConsumer",
    "Service",
    "ServiceOf",
    "StaticAuthenticator",
    "create_app",
    "requires",
]
