"""What ``--auth`` and ``--auth-settings`` name; a token for one run where nothing is named."""

from __future__ import annotations

import ipaddress
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from flowli.domain.errors import UsageError
from flowli.world import World
from flowli_api.auth.caching import CachingAuthenticator
from flowli_api.auth.identity import Authenticator, Identity
from flowli_api.auth.named import open_authenticator
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import OIDCLogin

__all__ = ["Authentication", "authenticating", "for_one_run"]


@dataclass(frozen=True, slots=True)
class Authentication:
    """How callers are known.

    Attributes:
        token: of this run, if one was made up for it.
        login: how the interface logs in, if the settings say so.
    """

    authenticator: Authenticator
    token: str | None = None
    login: OIDCLogin | None = None


def authenticating(world: World, name: str | None, settings: str | None, host: str) -> Authentication:
    """What the command line says of it. A table ``login`` of the settings of ``oidc`` is for the interface.

    Args:
        world: draws the token.
        name: of the authenticator; None for a token.
        settings: file with its settings.
        host: where the service listens.

    Raises:
        UsageError: nothing is named although others could reach the service, or the file cannot be read.
    """
    if name is not None:
        found = {} if settings is None else _read(settings)
        login = _login(found) if name == "oidc" else None
        return Authentication(CachingAuthenticator(open_authenticator(name, found), world=world), None, login)
    if settings is not None:
        raise UsageError("--auth-settings is given without --auth; name the authenticator that the settings are for")
    if not _loopback(host):
        raise UsageError(f"others can reach {host}, and no --auth says who may do what; name one, or serve 127.0.0.1")
    return Authentication(*for_one_run(world))


def for_one_run(world: World) -> tuple[Authenticator, str]:
    """A fresh token that may do everything, and the authenticator that knows it."""
    token = world.token()
    identity = Identity("local", name="local", capabilities=frozenset({"admin"}))
    return StaticAuthenticator({token: identity}), token


def _login(settings: dict[str, Any]) -> OIDCLogin | None:
    """Take the table for the interface out of the settings: its ``client_id``, ``scope``, ``audience``."""
    table = settings.pop("login", None)
    if table is None:
        return None
    known = {"client_id", "scope", "audience"}
    if not isinstance(table, dict) or not isinstance(table.get("client_id"), str) or table.keys() - known:
        raise UsageError("the table 'login' needs the text client_id, and takes scope and audience beside it")
    return OIDCLogin(str(settings.get("issuer", "")), **table)


def _read(path: str) -> dict[str, Any]:
    data = Path(path).read_bytes()
    try:
        found = orjson.loads(data) if path.endswith(".json") else tomllib.loads(data.decode())
    except (orjson.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} holds no table of settings")
    return found


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
