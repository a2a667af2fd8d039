"""``explain``: from an inspection to its explanation."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, cast

from flowli.descriptors import ExplainerType
from flowli.plugins import manager
from flowli.runtime.insight.explanation import Explanation, Moves
from flowli.runtime.insight.inspection import Inspection
from flowli.runtime.insight.reasons import BESIDE, RULES, Case

__all__ = ["Explainer", "explain", "plugin_explainers"]

_log = logging.getLogger("flowli.insight")


class Explainer(Protocol):
    """Reasons that a pattern adds: its waits mean more than the names of their channels."""

    def __call__(self, inspection: Inspection) -> Explanation | None:
        """The reason, if the execution waits for something of this pattern. It looks at nothing but ``inspection``;
        its ``reason`` gets the explainer's name before it.
        """


def explain(seen: Inspection, explainers: Mapping[str, Explainer]) -> Explanation:
    """Why an execution stands where it stands. What a pattern says comes before a wait of the core, and after what is
    wrong.
    """
    case = Case(seen)
    told = [_plugin(name, explainer, seen) for name, explainer in sorted(explainers.items())]
    patterns = [one for one in told if one is not None]
    core = next((found for rule in RULES if (found := rule(case)) is not None), None)
    beside = [found for rule in BESIDE if (found := rule(case)) is not None]
    waits = core is None or core.moves in (Moves.OUTSIDE, Moves.ITSELF)
    ranked = [*patterns, *_some(core)] if waits else [*_some(core), *patterns]
    first, *others = [*ranked, *beside]
    return replace(first, others=tuple(others))


def plugin_explainers() -> Mapping[str, Explainer]:
    """The explainers of the installed plugins (hook ``flowli_explainers``); a broken one is reported and skipped."""
    return {name: cast("Explainer", one) for name, one in manager().load_each(ExplainerType).items()}


def _plugin(name: str, explainer: Explainer, seen: Inspection) -> Explanation | None:
    try:
        found = explainer(seen)
    except Exception:
        _log.exception("the explainer %r failed on execution %s and is left out", name, seen.eid)
        return None
    return None if found is None else replace(found, reason=f"{name}.{found.reason}", others=())


def _some(core: Explanation | None) -> list[Explanation]:
    return [] if core is None else [core]
