"""``CairnBackend``: opening a bucket and making the ten ports over it."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakSet

from flowli.adapters.cairndb.archive import CairnArchive
from flowli.adapters.cairndb.channel import CairnChannel
from flowli.adapters.cairndb.control import CairnControlLog
from flowli.adapters.cairndb.dispatch import CairnDispatch
from flowli.adapters.cairndb.errors import translate
from flowli.adapters.cairndb.evidence import CairnEvidence
from flowli.adapters.cairndb.executions import CairnExecutionStore
from flowli.adapters.cairndb.journal import CairnJournal
from flowli.adapters.cairndb.opened import Opened
from flowli.adapters.cairndb.ownership import CairnOwnership
from flowli.adapters.cairndb.queue import CairnQueue
from flowli.adapters.cairndb.timers import CairnTimers
from flowli.cairn.database import Cairn
from flowli.cairn.errors import CairnError
from flowli.cairn.log import RETIRE_GRACE_S
from flowli.cairn.store import ObjectStore
from flowli.domain.errors import BackendRefused
from flowli.domain.ports import Ports
from flowli.stores import open_store
from flowli.world import SYSTEM, World

__all__ = ["CairnBackend"]


class CairnBackend:
    """The ten ports over one bucket.

        >>> backend = CairnBackend.open("file:./bucket")
        >>> backend = CairnBackend.configure({"storage": {"type": "s3", "bucket": "my-bucket"}})

    No request is made before a port is used; the first use checks, as ``check`` does, that this release
    can read the bucket.

    Args:
        store: the bucket; the backend closes it.
        world: clock, chance and identity of this process.
        retire_grace_s: how long what retention trimmed stays before it is deleted; at most that of any engine here.

    Attributes:
        store: as given.
        ports: the ten ports.
    """

    def __init__(self, store: ObjectStore, *, world: World = SYSTEM, retire_grace_s: float = RETIRE_GRACE_S) -> None:
        self._adopt(Opened(Cairn(store, world, retire_grace_s=retire_grace_s)))

    @classmethod
    def open(cls, storage: str, *, world: World = SYSTEM) -> CairnBackend:
        """The backend over the bucket that a URL names.

        Args:
            storage: for example ``file:./bucket``, ``memory:``, ``s3://bucket/prefix?region=eu-central-1``.

        Raises:
            BackendRefused: the URL is wrong, no installed distribution provides its type, or the place cannot be used.
            BackendUnavailable: the place cannot be reached now.
        """
        return cls._opened(storage, world)

    @classmethod
    def configure(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> CairnBackend:
        """The backend that a configuration describes.

        Args:
            config: its ``storage`` is a mapping with a ``type``, or a URL.

        Raises:
            BackendRefused, BackendUnavailable: as ``open``.
        """
        storage = config.get("storage")
        unknown = sorted(set(config) - {"storage"})
        if unknown:
            raise BackendRefused(f"The configuration has no setting {unknown[0]!r}. It takes 'storage' only.")
        if isinstance(storage, str | Mapping):
            return cls._opened(storage, world)
        raise BackendRefused(
            "The configuration has no 'storage'. Add one, for example "
            "{'storage': {'type': 'file', 'path': './bucket'}}."
        )

    @property
    def url(self) -> str:
        """Where the bucket is, without secrets."""
        return self.store.url

    async def check(self) -> None:
        """Check that the bucket can be reached and read by this release; mark a new one with its layout.

        Raises:
            BackendRefused: a newer release laid it out, or the operator must act otherwise.
            BackendUnavailable: it cannot be reached now.
        """
        try:
            await self._shared.check()
        except CairnError as error:
            raise translate(error) from error

    def fork(self) -> CairnBackend:
        """The same bucket for another thread's event loop, with connections of its own."""
        other = type(self).__new__(type(self))
        other._adopt(Opened(self._shared.cairn.fork(), checked=self._shared.checked))
        self._forks.add(other)
        return other

    async def close(self) -> None:
        """Let go of connections and threads, those of forks as well; their work has ended before."""
        await self._shared.settle()
        for other in tuple(self._forks):
            await other.close()
        await self.store.close()

    async def __aenter__(self) -> CairnBackend:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    @classmethod
    def _opened(cls, storage: str | Mapping[str, object], world: World) -> CairnBackend:
        from flowli.plugins import PluginError

        try:
            return cls(open_store(storage, world=world), world=world)
        except CairnError as error:
            raise translate(error) from error
        except PluginError as error:
            raise BackendRefused(str(error)) from error

    def _adopt(self, shared: Opened) -> None:
        self._shared = shared
        self._forks: WeakSet[CairnBackend] = WeakSet()
        self.store = shared.cairn.store
        self.ports = Ports(
            journal=CairnJournal(shared),
            control=CairnControlLog(shared),
            ownership=CairnOwnership(shared),
            dispatch=CairnDispatch(shared),
            queue=CairnQueue(shared),
            channel=CairnChannel(shared),
            timers=CairnTimers(shared),
            executions=CairnExecutionStore(shared),
            archive=CairnArchive(shared),
            evidence=CairnEvidence(shared),
            fork=self._fork_ports,
            poll_hint_s=shared.cairn.store.capabilities.poll_hint_s,
        )

    def _fork_ports(self) -> Ports:
        return self.fork().ports
