"""Bytes that go through the codec: a mark, the length of a JSON header in two bytes, that header, which names the
steps, and the body. What no step changes stands as it is.
"""

from __future__ import annotations

import orjson

from flowli.adapters.coded.places import Place
from flowli.adapters.coded.stored import FORM
from flowli.adapters.coded.values import Values
from flowli.domain.errors import ValueUnreadable

__all__ = ["framed", "unframed"]

_MAGIC = b"\x00$coded\x00"


async def framed(values: Values, data: bytes, place: Place) -> bytes:
    """The bytes as they are stored."""
    steps, body = await values.seal_bytes(data, place)
    if not steps and not data.startswith(_MAGIC):
        return body
    header = orjson.dumps({"v": FORM, "steps": steps})
    return b"".join((_MAGIC, len(header).to_bytes(2, "big"), header, body))


async def unframed(values: Values, found: bytes, place: Place) -> bytes:
    """Undo ``framed``.

    Raises:
        ValueUnreadable: it cannot be read here, or was changed.
    """
    if not found.startswith(_MAGIC):
        return found
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(found[start - 2 : start], "big")
    try:
        header = orjson.loads(found[start:end])
        form, steps = int(header["v"]), [str(step) for step in header["steps"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueUnreadable(f"{place.label} has a header that makes no sense; it was changed") from error
    if form > FORM:
        raise ValueUnreadable(f"{place.label} is stored in form {form}, this release reads {FORM}; upgrade flowli")
    return await values.open_bytes(steps, found[end:], place)
