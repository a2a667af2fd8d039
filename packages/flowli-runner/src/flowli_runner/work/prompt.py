"""The prompt: an envelope in the words that an agent reads."""

from __future__ import annotations

from flowli_runner.contracts import Envelope

__all__ = ["prompt_of"]

_REPORT = """\
You work alone: nobody answers questions. When you end, write a JSON object into the file that the environment variable
FLOWLI_REPORT_FILE names, with any of these fields: "outcome" (completed, partial, blocked or failed), "summary",
"claims" (what you have done, each with its evidence), "resume" (what somebody who goes on later needs to know).
Commit your work if you like; what you leave uncommitted is taken as it stands."""


def prompt_of(envelope: Envelope) -> str:
    """The whole text; parts that the envelope does not have are left out."""
    checks = [f"{one.name}: {' '.join(one.argv)}" for one in envelope.checks]
    knowledge = ["\n".join(filter(None, (f"{one.title}", one.link, one.text))) for one in envelope.knowledge]
    scopes = list(envelope.write_scopes) or ["nothing: this is work that only reads"]
    parts = [
        envelope.intent.strip(),
        _part("It is accepted when", envelope.acceptance),
        _part("You may change", scopes),
        _part("Afterwards these commands are run, and must succeed", checks),
        _part("What an earlier attempt got wrong", envelope.findings),
        _part("What an earlier agent left for you", [envelope.resume] if envelope.resume else []),
        _part("What you should know", knowledge),
        _REPORT,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _part(title: str, items: tuple[str, ...] | list[str]) -> str:
    return f"{title}:\n" + "\n".join(f"- {item}" for item in items) if items else ""
