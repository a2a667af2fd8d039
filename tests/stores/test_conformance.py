"""One contract, the same tests, five stores."""

from collections.abc import AsyncIterator

import pytest

from flowli.cairn.store import ObjectStore
from flowli.stores import open_store
from flowli.testing.suites.object_store import ObjectStoreSuite


class TestEveryStore(ObjectStoreSuite):
    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[ObjectStore]:
        opened = open_store(url)
        yield opened
        await opened.close()
