"""The simulator's own tests are about violations, not about what the engine logs while it is being struck."""

from __future__ import annotations

import logging

import pytest
import structlog


@pytest.fixture(autouse=True)
def _quiet(_own_logging: None) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
