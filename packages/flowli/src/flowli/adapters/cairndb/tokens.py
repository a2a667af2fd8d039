"""Opaque tokens: what a port hands out so that the same state can be named later, from any process."""

from __future__ import annotations

from typing import cast

import orjson

from flowli.cairn.objects import Doc
from flowli.cairn.values import JSON

__all__ = ["doc_of", "token_of"]


def token_of(doc: Doc) -> str:
    """The token of a document as it was read or written, with all that it takes to replace it."""
    return orjson.dumps([doc.version, doc.write_ids, doc.body]).decode()


def doc_of(key: str, token: str) -> Doc | None:
    """The document that ``token_of`` named; None for an empty token."""
    if not token:
        return None
    version, write_ids, body = cast("tuple[str, list[str], dict[str, JSON]]", orjson.loads(token))
    return Doc(key, body, version, None, tuple(write_ids))
