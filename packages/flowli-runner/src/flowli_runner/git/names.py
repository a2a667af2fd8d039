"""Names that come from outside: refused where git could read them as options, or as anything but a name."""

from __future__ import annotations

import hashlib
import re

from flowli.domain.errors import FlowliError

__all__ = ["BadName", "attempt_name", "branch_of", "check_ref", "kept_ref", "repository_name"]

_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+=-]*", re.ASCII)
_PLAIN = re.compile(r"[^A-Za-z0-9]+", re.ASCII)


class BadName(FlowliError):
    """A name is refused."""


def check_ref(name: str, what: str = "base_ref") -> str:
    """A branch, tag, full ref or commit, as it may be given to git.

    Raises:
        BadName: it begins with a dash, names a program or an address, or is not the name of a ref.
    """
    parts = name.split("/")
    bad_part = any(not part or part.startswith((".", "-")) or part.endswith((".lock", ".")) for part in parts)
    if not _REF.fullmatch(name) or ".." in name or bad_part or len(name) > 200:
        raise BadName(f"{what} {name!r} is refused; name a branch, a tag or a commit: letters, digits and '._/+=-'")
    return name


def attempt_name(task_id: str, delivery: int) -> str:
    """Names an attempt on every host alike: ``add-tests-1f0c2a9b4d5e-2``: what the task is called, its digest, the
    delivery.
    """
    said = _PLAIN.sub("-", re.split("[/:]", task_id)[-1]).strip("-").lower()[-24:].strip("-") or "task"
    return f"{said}-{hashlib.sha256(task_id.encode()).hexdigest()[:12]}-{delivery}"


def branch_of(attempt: str) -> str:
    """The branch of an attempt."""
    return f"flowli/{attempt}"


def kept_ref(attempt: str) -> str:
    """The ref that keeps every byte of an attempt."""
    return f"refs/flowli/kept/{attempt}"


def repository_name(folder: str) -> str:
    """Names a repository in leases."""
    return hashlib.sha256(folder.encode()).hexdigest()[:16]
