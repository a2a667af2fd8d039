from collections.abc import Callable
from types import ModuleType

import pytest

from flowli.plugins import Source


@pytest.fixture
def source() -> Callable[..., Source]:
    """Makes a plugin of hook functions: source("acme", "acme-dist", flowli_stores=lambda: [...])."""

    def make(name: str, distribution: str = "", version: str = "1.0", **members: object) -> Source:
        module = ModuleType(f"{name}.plugin")
        vars(module).update(members)
        return Source(name, distribution or f"{name}-dist", version, module.__name__, lambda: module)

    return make
