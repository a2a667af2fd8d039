"""From the errors of the cairn to those of the ports. Nothing of ``flowli.cairn.errors`` leaves a port.

========================================================  ====================================
the cairn raises                                          the port raises
========================================================  ====================================
``StoreThrottled``, ``StoreUnavailable``                  ``BackendUnavailable``
every other ``StoreError``, ``FormatTooNew``              ``BackendRefused``
``OutcomeUnknown``                                        ``OutcomeUnknown``
``LeaseGone``, ``LogFenced``                              ``LeaseLost``
``LogTrimmed``                                            ``BackendRefused``
``KeyRefused``                                            ``InvalidName``
``NotStorable``                                           ``InvalidValue``
========================================================  ====================================
"""

from __future__ import annotations

from flowli.cairn import errors as cairn
from flowli.domain import errors as domain

__all__ = ["translate"]


def translate(error: cairn.CairnError) -> domain.FlowliError:
    """The error of the ports that says the same as ``error``."""
    match error:
        case cairn.StoreThrottled() | cairn.StoreUnavailable() | cairn.StoreFull():
            return domain.BackendUnavailable(str(error))
        case cairn.OutcomeUnknown():
            return domain.OutcomeUnknown(str(error))
        case cairn.LeaseGone() | cairn.LogFenced():
            return domain.LeaseLost(str(error))
        case cairn.KeyRefused():
            return domain.InvalidName(str(error))
        case cairn.NotStorable():
            return domain.InvalidValue("value", str(error))
        case _:
            return domain.BackendRefused(str(error))
