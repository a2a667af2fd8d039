"""``explain``: from an inspection to its explanation."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from flowli.descriptors import ExplainerType
from flowli.domain.ports import Ports
from flowli.plugins import manager
from flowli.runtime.insight.explanation import Explanation, Moves
from flowli.runtime.insight.inspection import Inspection
from flowli.runtime.insight.reasons import BESIDE, RULES, Case

__all__ = ["Explainer", "explain", "plugin_explainers"]

_log = logging.getLogger("flowli.insight")


class Explainer(Protocol):
    """Reasons that a pattern adds: its waits mean more than the names of their channels."""

    async def __call__(self, inspection: Inspection, ports: Ports) -> Explanation | None:
        """The reason, if the execution waits for something of this pattern; its name gets the explainer's before it.

        It reads and never writes, and says the same of the same state of the bucket.
        """


async def explain(seen: Inspection, explainers: Mapping[str, Explainer], ports: Ports) -> Explanation:
    """Why an execution stands where it stands. What a pattern says comes before a wait of the core, and after what is
    wrong.

    Args:
        ports: for the explainers.
    """
    case = Case(seen)
    told = [await _plugin(name, explainer, seen, ports) for name, explainer in sorted(explainers.items())]
    patterns = [one for one in told if one is not None]
    core = next(found for rule in RULES if (found := rule(case)) is not None)
    beside = [found for rule in BESIDE if (found := rule(case)) is not None]
    waits = core.moves in (Moves.OUTSIDE, Moves.ITSELF)
    first, *others = [*patterns, core, *beside] if waits else [core, *patterns, *beside]
    return replace(first, others=tuple(others))


def plugin_explainers() -> Mapping[str, Explainer]:
    """The explainers of the installed plugins (hook ``flowli_explainers``); a broken one is reported and skipped."""
    return manager().load_each(ExplainerType)


async def _plugin(name: str, explainer: Explainer, seen: Inspection, ports: Ports) -> Explanation | None:
    try:
        found = await explainer(seen, ports)
    except Exception:
        _log.exception("the explainer %r failed on execution %s and is left out", name, seen.eid)
        return None
    return None if found is None else replace(found, reason=f"{name}.{found.reason}", others=())
