"""What the storage service of Azure tells of a container and its account. The rest only the management API knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flowli.cairn.remote.bucket import Harm, Look, Setting
from flowli_cairn_azure.client import AzureClient
from flowli_cairn_azure.config import AzureConfig

__all__ = ["looks"]


def looks(config: AzureConfig) -> tuple[Look[AzureClient], ...]:
    """The requests that tell the settings of a container."""
    return (
        Look(
            "public access, retention",
            "Microsoft.Storage/storageAccounts/blobServices/containers/read (a SAS for containers: r)",
            _container,
        ),
        Look("soft delete", "Microsoft.Storage/storageAccounts/blobServices/read (a SAS for services: r)", _account),
        Look("versioning, lifecycle", "none", partial(_elsewhere, config)),
    )


def _container(client: AzureClient) -> Sequence[Setting]:
    found = client.container.get_container_properties()
    public = Setting("public access", "The container is private.")
    if found.public_access:
        text = "Anybody may read the container: every input and result. Set its access level to private."
        public = Setting("public access", text, Harm.COSTS)
    held = Setting("retention", "No blob is kept from removal by default.")
    if found.has_immutability_policy or found.has_legal_hold:
        text = "Leases and tasks are replaced and removed all the time, which its policy or legal hold forbids."
        held = Setting("retention", f"{text} Use a container without.", Harm.LOSES)
    return (public, held)


def _account(client: AzureClient) -> Sequence[Setting]:
    with client.account() as account:
        kept = account.get_service_properties().get("delete_retention_policy")
    if kept is not None and kept.enabled:
        text = f"What was replaced or removed is kept and paid for {kept.days} days longer. Switch it off."
        return [Setting("soft delete", text, Harm.COSTS)]
    return [Setting("soft delete", "It is off.")]


def _elsewhere(config: AzureConfig, client: AzureClient) -> Sequence[Setting]:
    account = client.container.account_name or config.account
    text = (
        "Only the management API tells them. No rule may delete or archive what is under wf/ and logs/, and versions "
        f"want a rule that removes them: az storage account management-policy show --account-name {account}."
    )
    return [Setting("versioning, lifecycle", text, Harm.UNKNOWN)]
