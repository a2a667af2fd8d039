"""Workflows, the caller, the service."""

from __future__ import annotations

from pydantic import Field, JsonValue

from flowli.runtime.registry import Workflow
from flowli_api.auth.identity import Identity
from flowli_api.dto.base import Out
from flowli_api.schemas import argument_schema, result_schema

__all__ = ["ConfigOut", "LoginOut", "MeOut", "WorkflowOut", "WorkflowPage"]


class WorkflowOut(Out):
    """One version of a workflow of this process."""

    name: str = Field(examples=["invoice_approval"])
    version: str = Field(examples=["1"])
    latest: bool
    queue: str = Field(examples=["default"])
    timeout_s: float | None = None
    doc: str = Field(default="", description="The first line of its docstring.")
    arguments: dict[str, JsonValue] = Field(description="JSON Schema of the arguments by name.")
    result: dict[str, JsonValue] = Field(description="JSON Schema of the result.")

    @classmethod
    def of(cls, workflow: Workflow, latest: bool) -> WorkflowOut:
        """From the registry."""
        return cls(
            name=workflow.name,
            version=workflow.version,
            latest=latest,
            queue=workflow.queue,
            timeout_s=workflow.timeout_s,
            doc=workflow.doc,
            arguments=argument_schema(workflow),
            result=result_schema(workflow),
        )


class WorkflowPage(Out):
    """All workflows of this process, every version."""

    items: list[WorkflowOut]


class MeOut(Out):
    """The caller as the service knows it."""

    actor: str = Field(examples=["https://login.example.org|ada"])
    name: str
    kind: str
    capabilities: list[str] = Field(examples=[["executions:read", "workflows:read"]])
    workflows: list[str] | None = Field(default=None, description="The only workflows within reach; null for all.")
    groups: list[str] = Field(
        default=[], examples=[["finance"]], description="Reviews may be for the people of a group."
    )

    @classmethod
    def of(cls, caller: Identity) -> MeOut:
        """From the token."""
        return cls(
            actor=caller.actor.id,
            name=caller.name,
            kind=caller.kind.value,
            capabilities=sorted(caller.capabilities),
            workflows=None if caller.workflows is None else sorted(caller.workflows),
            groups=sorted(caller.groups),
        )


class LoginOut(Out):
    """How a browser logs in (authorization code with PKCE)."""

    issuer: str
    client_id: str
    scope: str
    audience: str | None = None


class ConfigOut(Out):
    """What everyone may know."""

    version: str = Field(examples=["0.2.0"])
    oidc: LoginOut | None = Field(default=None, description="Null: log in with a token.")
    plugins: list[str] = Field(default=[], description="Prefixes that plugins brought: `reviews`, `schedules`.")
    max_page_size: int
    max_wait_s: float
