"""Encryption of values by AES-GCM, with a ring of keys."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowli.descriptors import Coded
from flowli.domain.errors import UsageError, ValueUnreadable
from flowli.world import SYSTEM, World

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["Encryption", "KeyRing"]

_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_KEY_BYTES = 32
_NONCE_BYTES = 12


class KeyRing:
    """Keys by their ids. The last one writes, all of them read.

    To rotate: give every process the new key at the end of its ring only when all of them can read it, so first add it
    before the last one everywhere, then move it to the end. A key may go when nothing that it wrote is kept any more.

    Args:
        keys: 32 bytes each, by id, oldest first. An id is stored beside each value, in the clear.

    Raises:
        UsageError: a key or an id has another form, or there is none.

    Example:
        >>> KeyRing({"2026-01": old, "2026-06": new})
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        for key_id, key in keys.items():
            if not _ID.fullmatch(key_id):
                raise UsageError(f"key id {key_id!r} is no name: use 1 to 64 ASCII letters, digits or any of _ . -")
            if len(key) != _KEY_BYTES:
                raise UsageError(f"key {key_id!r} has {len(key)} bytes; AES-256 takes {_KEY_BYTES}")
        if not keys:
            raise UsageError("a key ring needs at least one key")
        self._keys = dict(keys)

    @classmethod
    def parse(cls, text: str) -> KeyRing:
        """A ring from one text, as a secret or an environment variable holds it: ``2026-01:BASE64,2026-06:BASE64``.

        Raises:
            UsageError: it has another form. The message shows no part of a key.
        """
        keys: dict[str, bytes] = {}
        for number, part in enumerate(filter(None, (part.strip() for part in text.split(","))), 1):
            key_id, _, encoded = part.partition(":")
            try:
                keys[key_id] = base64.b64decode(encoded, validate=True)
            except binascii.Error:
                raise UsageError(f"key {number} of the ring has not the form ID:BASE64") from None
        return cls(keys)

    @property
    def newest(self) -> str:
        """Id of the key that writes."""
        return next(reversed(self._keys))

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, oldest first."""
        return tuple(self._keys)

    def get(self, key_id: str) -> bytes | None:
        """The key with that id."""
        return self._keys.get(key_id)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._keys)})"


class Encryption:
    """The step ``aes-gcm``. A value is bound to the place that it was written for and does not open in another.

    Each value has a random nonce: change the key before it has written 2**32 of them.

    Args:
        keys: the ring.
        world: draws the nonces.

    Raises:
        UsageError: the library ``cryptography`` is not installed.
    """

    name = "aes-gcm"

    def __init__(self, keys: KeyRing, *, world: World = SYSTEM) -> None:
        self._keys = keys
        self._world = world
        self._ciphers: dict[str, AESGCM] = {key_id: _cipher(keys, key_id) for key_id in keys.ids}

    def encode(self, data: bytes, context: bytes) -> Coded:
        """Encrypt with the newest key."""
        nonce = bytes.fromhex(self._world.token())[:_NONCE_BYTES]
        key_id = self._keys.newest
        return Coded(nonce + self._ciphers[key_id].encrypt(nonce, data, context), key_id)

    def decode(self, data: bytes, context: bytes, note: str) -> bytes:
        """Decrypt with the key that ``note`` names."""
        from cryptography.exceptions import InvalidTag

        cipher = self._ciphers.get(note)
        if cipher is None:
            raise ValueUnreadable(
                f"a value is encrypted with key {note!r}, which this process does not have (it has "
                f"{', '.join(map(repr, self._keys.ids))}); add that key to its ring"
            )
        try:
            return cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], context)
        except (InvalidTag, ValueError) as error:
            raise ValueUnreadable(
                f"a value does not open with key {note!r}: another key has this id here, or the value was changed or "
                "moved from another place; compare the keys of the processes"
            ) from error


def _cipher(keys: KeyRing, key_id: str) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise UsageError(
            "encryption needs the distribution cryptography; run: pip install 'flowli[encryption]'"
        ) from error
    key = keys.get(key_id)
    assert key is not None
    return AESGCM(key)
