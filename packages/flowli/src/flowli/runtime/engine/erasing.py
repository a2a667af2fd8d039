"""Erasing executions on request: ``erase``."""

from __future__ import annotations

from flowli.domain.errors import NotAllowed
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.operating import OperatorVerbs
from flowli.runtime.protocols.erase import erase
from flowli.runtime.protocols.receipt import first_call
from flowli.runtime.protocols.standing import read_standing
from flowli.runtime.scrub import Scrub, scrub_entry

__all__ = ["EraseVerbs"]


class EraseVerbs(OperatorVerbs):
    """``erase``."""

    async def erase(
        self,
        eid: Eid | str,
        reason: str = "",
        *,
        scrub: Scrub = scrub_entry,
        key: str | None = None,
        actor: Actor | None = None,
    ) -> None:
        """Remove the payloads of a finished execution for good; returns when that is done.

        What stays is an archive that shows what it did, when, and who erased it. Retention comes by after
        ``retire_grace_s``, and after three times as long, for what late writers may have left.

        Args:
            eid: the execution; it may be archived. Erasing it again finishes what was left undone.
            reason: why, for people and for the journal: a reference to the request, no personal data.
            scrub: gives what stays of an entry; the default keeps no arguments, values, messages or reasons.
            key: the same erasing with the same key is one; None for a new one.
            actor: who asks; this process if None.

        Raises:
            UnknownExecution: no such execution.
            NotAllowed: it has not ended.
            UsageError: ``scrub`` made another entry of what it was given.
            DispatchConflict: the key was used for something else.
        """
        standing = await read_standing(self.ports, as_eid(eid))
        if not standing.ended:
            raise NotAllowed(
                f"execution {eid} is {standing.fold.status} and can be erased only when it has ended; cancel or "
                "terminate it first"
            )
        eid, _, asked = self._request(standing.execution.eid, key, actor)
        by = await first_call(self.ports, eid, key, "erase", {"reason": reason}, asked, fold=standing.fold)
        await erase(self.services, eid, reason=reason, by=by, scrub=scrub)
        await self._acted("erase", eid, reason, key, asked)
