"""Registers this distribution with flowli: the command ``flowli api``, authenticators, ``engine.http``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.descriptors import AuthenticatorType, CommandType, EngineExtensionType

if TYPE_CHECKING:
    from click import Command


def _api() -> Command:
    from flowli_api.cli.serve import api

    return api


def _static() -> object:
    from flowli_api.auth.static import StaticAuthenticator

    return StaticAuthenticator.from_settings


def _keys() -> object:
    from flowli_api.auth.keys import ApiKeyAuthenticator

    return ApiKeyAuthenticator.from_settings


def _oidc() -> object:
    from flowli_api.auth.oidc import OIDCAuthenticator

    return OIDCAuthenticator.from_settings


def _http() -> object:
    from flowli_api.local import LocalHttp

    return LocalHttp


def flowli_commands() -> list[CommandType]:
    """The commands of this distribution."""
    return [CommandType("api", "Serve executions over HTTP", _api)]


def flowli_authenticators() -> list[AuthenticatorType]:
    """The ways in which the service can learn who calls."""
    return [
        AuthenticatorType("static", "A table of tokens", _static),
        AuthenticatorType("keys", "API keys, stored hashed", _keys),
        AuthenticatorType("oidc", "Access tokens of an OpenID Connect provider", _oidc),
    ]


def flowli_engine_extensions() -> list[EngineExtensionType]:
    """``engine.http``: the service beside other work of a process."""
    return [EngineExtensionType("http", "The HTTP service beside other work of a process", _http)]
