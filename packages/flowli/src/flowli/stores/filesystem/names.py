"""Keys to file names and back, so that no two keys meet in one name, on any disk.

* Disks may ignore case: an upper-case letter is ``^`` and its lower-case form. Any other character outside a plain
  set is ``%`` and two digits; a name never begins or ends with a plain dot.
* ``name=`` is an object and ``name`` a folder of keys, so that one key may be the beginning of another.
* ``name~`` is a folder whose objects go on with the name right there, without a slash. Long parts are cut into such
  folders; a part that begins with an instant is cut after its hour and after its second. What follows the second
  stands in one name, slashes as ``,``: a folder per second holds all that is due in it.
"""

from __future__ import annotations

import re
import string

from flowli.cairn.keys import INSTANT

__all__ = ["CUT", "OBJECT", "decoded", "deepest_folder", "place"]

OBJECT = "="
"""Ends the name of an object."""

CUT = "~"
"""Ends the name of a folder in which names go on."""

_LONGEST = 200
_HOUR, _SECOND = len("2026-11-30T14:"), len("2026-11-30T14:25:14.")
_PLAIN = string.ascii_lowercase + string.digits + "._-:+@()"
_CODES = {code: f"%{code:02x}" for code in range(128) if chr(code) not in _PLAIN}
_CODES.update({ord(letter): f"^{letter.lower()}" for letter in string.ascii_uppercase})
_CODES[ord("/")] = ","
_CODED = re.compile(r"\^(.)|%(..)|,")


def place(key: str) -> tuple[tuple[str, ...], str]:
    """The folders, outermost first, and the file name of a key that ``check_key`` let pass."""
    parts = key.split("/")
    folders: list[str] = []
    for index, part in enumerate(parts):
        if INSTANT.match(part):
            rest = "/".join(parts[index:])
            folders += [_name(rest[:_HOUR]) + CUT, _name(rest[_HOUR:_SECOND]) + CUT]
            *pieces, last = _pieces(_name(rest[_SECOND:]))
        elif index < len(parts) - 1:
            folders += _folders(part)
            continue
        else:
            *pieces, last = _pieces(_name(part))
        folders += [piece + CUT for piece in pieces]
        return tuple(folders), last + OBJECT
    raise AssertionError("a key has at least one part")


def deepest_folder(prefix: str) -> tuple[tuple[str, ...], str]:
    """The folder in which every key with this prefix is, and the part of the prefix that it stands for."""
    folders: list[str] = []
    base = ""
    for part in prefix.split("/")[:-1]:
        if INSTANT.match(part):
            break
        folders += _folders(part)
        base += part + "/"
    return tuple(folders), base


def decoded(name: str) -> str:
    """The part of a key that a name stands for, its mark taken off."""
    return _CODED.sub(_character, name)


def _folders(part: str) -> list[str]:
    *pieces, last = _pieces(_name(part))
    return [*(piece + CUT for piece in pieces), f"{last[:-1]}%2e" if last[-1] == "." else last]


def _name(text: str) -> str:
    name = text.translate(_CODES)
    return f"%2e{name[1:]}" if name[0] == "." else name


def _pieces(name: str) -> list[str]:
    """Cut a name where no coded character is torn apart."""
    pieces: list[str] = []
    while len(name) > _LONGEST:
        at = _LONGEST
        torn = max(name.rfind("%", at - 2, at), name.rfind("^", at - 1, at))
        if torn >= 0:
            at = torn
        pieces.append(name[:at])
        name = name[at:]
    return [*pieces, name]


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return found[1].upper()
    return chr(int(found[2], 16)) if found[2] else "/"
