"""Identities in settings: rows of a file that say who holds what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowli.domain.errors import UsageError
from flowli.domain.provenance import ActorKind
from flowli_api.auth.capabilities import capabilities
from flowli_api.auth.identity import Identity

__all__ = ["identity_of", "names"]


def identity_of(row: Mapping[str, Any], default: ActorKind = ActorKind.HUMAN) -> Identity:
    """Who a row describes: ``subject``, ``name``, ``kind``, ``capabilities``, ``workflows``, ``groups``.

    Raises:
        UsageError: something is missing or has the wrong form.
    """
    subject = row.get("subject")
    if not isinstance(subject, str) or not subject:
        raise UsageError("a row needs a subject: a text that names who holds it")
    kind = row.get("kind", default.value)
    if kind not in ("human", "system"):
        raise UsageError(f"kind of '{subject}' is {kind!r}; use human or system")
    workflows = row.get("workflows")
    return Identity(
        subject,
        name=str(row.get("name", "")),
        capabilities=capabilities(names("capabilities", row.get("capabilities", []))),
        workflows=None if workflows is None else frozenset(names("workflows", workflows)),
        kind=ActorKind(kind),
        groups=frozenset(names("groups", row.get("groups", []))),
    )


def names(what: str, value: object) -> list[str]:
    """A list of texts.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{what} is {value!r}; write a list of texts")
    return list(value)
