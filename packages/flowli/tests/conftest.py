"""What one test says of logging holds for that test alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), logging.root.manager.disable
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.setLevel(level)
    root.handlers[:] = handlers
    logging.disable(disabled)
