from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import pytest

from flowli.testing.env import TestEnvironment

sys.path.insert(0, str(Path(__file__).parent))
import kit_shop as _shop

sys.path.pop(0)


@pytest.fixture
def shop() -> ModuleType:
    return _shop


@pytest.fixture
async def env() -> AsyncIterator[TestEnvironment]:
    async with TestEnvironment(_shop.registry) as opened:
        yield opened
