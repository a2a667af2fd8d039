"""The settings of a store on a disk of this host, from a URL or a mapping: where it is, and how far its writes go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar, Self
from urllib.parse import parse_qsl, quote, unquote

from flowli.cairn.errors import StoreConfigError

__all__ = ["LocalConfig"]

_SETTINGS = ("durability", "create")


@dataclass(frozen=True, slots=True)
class LocalConfig:
    """What every store on a disk is told.

    Attributes:
        path: absolute path.
        durability: ``full``: a write counts when it is on the disk; ``os``: when the operating system has it, for tests
            and throw-away buckets.
        create: make it if it is missing.
    """

    SCHEME: ClassVar[str]
    """Of its URL."""

    WHAT: ClassVar[str]
    """What the path names, with its article."""

    HOW: ClassVar[str]
    """Examples of its URL, as advice."""

    path: str
    durability: str = "full"
    create: bool = True

    def __post_init__(self) -> None:
        if self.durability not in ("full", "os"):
            raise StoreConfigError(f"There is no durability {self.durability!r}", "Use 'full' or 'os'")

    @property
    def url(self) -> str:
        """The URL that opens the same bucket."""
        settings = "" if self.durability == "full" else f"?durability={self.durability}"
        return f"{self.SCHEME}://{quote(self.path)}{settings}"

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Read ``scheme:./path``, ``scheme:path``, ``scheme:~/path`` or ``scheme:///path``.

        Settings follow as ``?durability=os&create=false``.

        Raises:
            StoreConfigError: the URL has another form.
        """
        scheme, _, rest = url.partition(":")
        path, _, query = rest.partition("?")
        if scheme != cls.SCHEME:
            raise StoreConfigError(f"{url!r} is not the URL of {cls.WHAT}", cls.HOW)
        if path.startswith("//"):
            host, slash, path = path[2:].partition("/")
            path = slash + path
            if host not in ("", "localhost"):
                raise StoreConfigError(
                    f"{url!r} names the host {host!r}", f"{cls.WHAT.capitalize()} is on this host. {cls.HOW}"
                )
        return cls._made(unquote(path), dict(parse_qsl(query, keep_blank_values=True)))

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Self:
        """Read ``{"type": scheme, "path": …}``, with the same settings.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        path = config.get("path")
        if not isinstance(path, str | os.PathLike):
            raise StoreConfigError("The storage mapping has no 'path'", f"Add the path of {cls.WHAT}")
        return cls._made(os.fspath(path), {k: v for k, v in config.items() if k not in ("type", "path")})

    @classmethod
    def _made(cls, path: str, settings: Mapping[str, object]) -> Self:
        if not path or "\0" in path:
            raise StoreConfigError(f"The storage URL does not name {cls.WHAT}", cls.HOW)
        for name in settings:
            if name not in _SETTINGS:
                near = get_close_matches(name, _SETTINGS, 1)
                hint = f"Did you mean {near[0]!r}" if near else f"There are {' and '.join(map(repr, _SETTINGS))}"
                raise StoreConfigError(f"A bucket on disk has no setting {name!r}", hint)
        create = str(settings.get("create", "true")).lower()
        if create not in ("true", "false"):
            raise StoreConfigError(f"create={create!r} makes no sense", "Use 'true' or 'false'")
        return cls(os.path.abspath(os.path.expanduser(path)), str(settings.get("durability", "full")), create == "true")
