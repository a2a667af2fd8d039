"""What a workflow asks of an agent (``Envelope``) and what it is told in the end (``Report``)."""

from flowli_runner.contracts.envelope import AgentSettings, Check, Envelope, Knowledge
from flowli_runner.contracts.report import (
    Change,
    CheckResult,
    Claim,
    Cost,
    EvidenceRef,
    Outcome,
    Report,
    ResumeArtifact,
)
from flowli_runner.contracts.shape import ContractError, from_data, json_schema, to_data

__all__ = [
    "AgentSettings",
    "Change",
    "Check",
    "CheckResult",
    "Claim",
    "ContractError",
    "Cost",
    "Envelope",
    "EvidenceRef",
    "Knowledge",
    "Outcome",
    "Report",
    "ResumeArtifact",
    "from_data",
    "json_schema",
    "to_data",
]
