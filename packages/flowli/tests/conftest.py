"""Logging set by one test holds for that test alone. Property tests repeat themselves in CI, without a deadline."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

settings.register_profile(
    "flowli",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("flowli")


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
