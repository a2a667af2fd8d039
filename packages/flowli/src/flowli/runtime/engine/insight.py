"""Why is it stuck? ``inspect``, ``explain``, ``timeline``, ``tree``, ``graph``. Reading never writes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from flowli.domain.ids import Eid
from flowli.runtime import insight
from flowli.runtime.engine.base import EngineBase, as_eid
from flowli.runtime.insight import Explainer, Explanation, FrameNode, Graph, Inspection, KnownCode, Moment

__all__ = ["InsightVerbs"]


class InsightVerbs(EngineBase):
    """``inspect`` and what is made of it. All of it works on archived and erased executions as well.

    Raises of every verb:
        UnknownExecution: no such execution.
    """

    @cached_property
    def known_code(self) -> KnownCode:
        """The code that the workers of the fleet have announced, as far as it was asked for."""
        return KnownCode()

    @cached_property
    def explainers(self) -> Mapping[str, Explainer]:
        """What patterns add to ``explain``: those of the installed plugins."""
        return insight.plugin_explainers()

    async def inspect(self, eid: Eid | str) -> Inspection:
        """Everything that the bucket says of one execution, at one instant: record, lease, tasks, timers, waits,
        unread messages, requests, children, attempts, anomalies.
        """
        return await insight.inspect(self.services, as_eid(eid), self.known_code)

    async def explain(self, eid: Eid | str | Inspection) -> Explanation:
        """Why it stands where it stands: one reason, one sentence, the evidence, and the commands that move it.

        Args:
            eid: the execution, or what ``inspect`` has found.
        """
        seen = eid if isinstance(eid, Inspection) else await self.inspect(eid)
        return await insight.explain(seen, self.explainers, self.ports)

    async def timeline(self, eid: Eid | str, *, values: bool = False) -> tuple[Moment, ...]:
        """What happened, in order.

        Args:
            values: with arguments and results.
        """
        return insight.timeline(await self.inspect(eid), values=values)

    async def tree(self, eid: Eid | str, *, values: bool = False) -> tuple[FrameNode, ...]:
        """Its frames below each other, with attempts, durations, waits and errors.

        Args:
            values: with the memos.
        """
        return insight.frame_tree(await self.inspect(eid), values=values)

    async def graph(self, eid: Eid | str) -> Graph:
        """What it did as nodes and edges; ``flowli.runtime.insight.mermaid`` draws it."""
        return insight.graph(await self.inspect(eid))
