"""Authenticators by name (hook ``flowli_authenticators``): what a configuration or a command line names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from flowli.descriptors import AuthenticatorType
from flowli.domain.errors import UsageError
from flowli.plugins import manager
from flowli_api.auth.identity import Authenticator

__all__ = ["open_authenticator"]


def open_authenticator(name: str, settings: Mapping[str, Any]) -> Authenticator:
    """The authenticator that an installed plugin provides under a name.

    Args:
        name: of the plugin's ``AuthenticatorType``.
        settings: handed to it.

    Raises:
        UsageError: nothing installed provides it; the known names are listed.
    """
    known = manager().all(AuthenticatorType)
    if name not in known:
        raise UsageError(f"no authenticator is named {name!r}; installed are {', '.join(sorted(known)) or 'none'}")
    factory = known[name].load()
    if not callable(factory):
        raise UsageError(f"the authenticator {name!r} loads a {type(factory).__name__}, which cannot be called")
    return cast("Authenticator", factory(settings))
