"""The open file. LMDB allows one environment for a file in a process, so stores and forks share it by counting."""

from __future__ import annotations

import os
import threading

import lmdb

from flowli_store_lmdb.config import LmdbConfig
from flowli_store_lmdb.errors import translated

_MB = 1024 * 1024
_READERS = 1024

_lock = threading.Lock()
_open: dict[tuple[int, str], tuple[lmdb.Environment, int]] = {}


def acquire(config: LmdbConfig) -> lmdb.Environment:
    """The environment of a file, opened if nobody in this process has it open.

    Raises:
        StoreError: it cannot be opened.
    """
    key = _key(config)
    with _lock:
        if key in _open:
            found, users = _open[key]
        else:
            found, users = _opened(config), 0
        _open[key] = found, users + 1
        return found


def release(config: LmdbConfig) -> None:
    """The last of those who share an environment closes it."""
    key = _key(config)
    with _lock:
        found, users = _open.pop(key)
        if users > 1:
            _open[key] = found, users - 1
        else:
            found.close()


def _key(config: LmdbConfig) -> tuple[int, str]:
    # a process that was forked must not use what its parent opened
    return os.getpid(), os.path.realpath(config.path)


def _opened(config: LmdbConfig) -> lmdb.Environment:
    durable = config.durability == "full"
    try:
        return lmdb.open(
            config.path,
            subdir=False,
            map_size=config.max_mb * _MB,
            sync=durable,
            metasync=durable,
            max_readers=_READERS,
            max_spare_txns=16,
        )
    except lmdb.Error as error:
        raise translated(config.path, error) from error
