"""From the errors of the Azure SDK to those of the cairn, and to what a write came to.

========================  ==================================  ===========================================
the service says          a write came to                     a read raises
========================  ==================================  ===========================================
409 BlobAlreadyExists     ``Lost``                            cannot be
412 ConditionNotMet       ``Lost`` or ``Gone`` (no retry is   cannot be
                          in between), by one look more
404 BlobNotFound          ``Gone``                            means None
ServerBusy, 429           ``StoreThrottled``                  ``StoreThrottled``
500, 502, 504, other 409  ``Unknown``                         ``StoreUnavailable``
no answer, cut answer     ``Unknown``                         ``StoreUnavailable``
no connection             ``StoreUnavailable``                ``StoreUnavailable``
any other refusal         its own class                       its own class
========================  ==================================  ===========================================

Before a store has answered once, no connection, or no answer to three requests, means a wrong address or a host without
network: then it is a plain ``StoreError``, which nobody tries again.
"""

from __future__ import annotations

from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseTimeoutError,
)
from requests import exceptions as http
from urllib3 import exceptions as wire

from flowli.cairn.errors import (
    StoreConfigError,
    StoreError,
    StoreFull,
    StoreMissing,
    StorePermission,
    StoreThrottled,
    StoreUnavailable,
    StoreUnsuitable,
)
from flowli.cairn.remote.causes import causes, failing, one_line
from flowli.cairn.remote.dialect import Call
from flowli.cairn.write import Unknown

__all__ = ["Call", "answered", "expired", "fate", "refusal", "unusable"]

_THROTTLED = frozenset({"ServerBusy", "TooManyRequests", "OperationThrottled"})
_HELD = frozenset({"BlobImmutableDueToPolicy", "BlobImmutableDueToLegalHold", "SnapshotsPresent"})
_LEASED = frozenset({"LeaseIdMissing", "LeaseIdMismatchWithBlobOperation", "LeaseLost"})
_MISSING = frozenset({"ContainerNotFound", "ContainerBeingDeleted", "ContainerDisabled", "ResourceNotFound"})
_TRIES = 3
_RIGHTS = {
    "get": "read",
    "put": "create and write",
    "delete": "delete",
    "delete_many": "delete",
    "list": "list",
    "look at settings": "read the properties of",
}
_NO_CONNECTION = (
    http.ConnectTimeout,
    http.ProxyError,
    wire.NewConnectionError,
    wire.ConnectTimeoutError,
    wire.NameResolutionError,
)


def answered(error: Exception) -> bool:
    """Whether the error is an answer of the service."""
    return isinstance(error, HttpResponseError) and error.status_code is not None


def expired(error: Exception) -> bool:
    """Whether the credentials are no longer valid, so that looking for them anew may find newer ones."""
    return isinstance(error, ClientAuthenticationError) and _code(error) == "AuthenticationFailed"


def fate(error: Exception, call: Call) -> Unknown:
    """What a write came to that ended with ``error``.

    Raises:
        StoreError: it was refused, and nothing was written.
    """
    if isinstance(error, HttpResponseError) and error.status_code is not None:
        code, status = _code(error), error.status_code
        named = code in _THROTTLED | _HELD | _LEASED | _MISSING
        if not named and (status in (408, 409) or failing(status)):
            return Unknown(f"Azure answered a {call.verb} with {status} {code}")
        raise refusal(error, call) from error
    if isinstance(error, ClientAuthenticationError) or _not_sent(error) or _untrusted(error):
        raise refusal(error, call) from error
    return Unknown(f"no whole answer came to a {call.verb} ({one_line(error)})")


def refusal(error: Exception, call: Call) -> StoreError:
    """The error of the cairn that says the same as ``error``, raised by a read or by a write that did not happen."""
    if isinstance(error, HttpResponseError) and error.status_code is not None:
        return _refused(error, call)
    if isinstance(error, ClientAuthenticationError):
        return StorePermission(
            f"There are no credentials for {call.where} that work",
            "Run az login, give this host an identity, or set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN",
        )
    if _untrusted(error):
        return StoreConfigError(
            f"The certificate of {call.where} is not trusted: {one_line(error)}",
            "Check endpoint_url, or name the authority in REQUESTS_CA_BUNDLE",
        )
    kind = StoreUnavailable if call.reached else StoreError
    if _not_sent(error):
        return kind(
            f"{call.where} cannot be reached: {one_line(error)}", "Check the account, endpoint_url and the network"
        )
    if isinstance(error, TimeoutError | ServiceResponseTimeoutError):
        return kind(f"{call.where} gave no answer in time", "Check the storage URL, the credentials and the network")
    kind = StoreUnavailable if call.reached or call.tries < _TRIES else StoreError
    return kind(f"{call.where} gave no whole answer to a {call.verb}: {one_line(error)}", "Check the storage URL")


def unusable(error: Exception, call: Call) -> StoreError:
    """The error of the cairn for settings with which no client can be made."""
    return StoreConfigError(
        f"The settings of {call.where} cannot be used: {one_line(error)}",
        "Correct the storage URL, the connection string or the key",
    )


def _refused(error: HttpResponseError, call: Call) -> StoreError:
    code, status = _code(error), error.status_code or 0
    said = f"{status} {code}".strip()
    if code in _THROTTLED or status == 429:
        return StoreThrottled(f"{call.where} takes fewer requests than it gets ({said})", "Try again later")
    if code in _MISSING:
        return StoreMissing(f"There is no container {call.where}", "Create it, or correct the storage URL")
    if code in _HELD:
        return StorePermission(
            f"A blob of {call.where} may not be changed ({said})",
            "Take immutability policies, legal holds and snapshots off the container",
        )
    if code in _LEASED:
        return StorePermission(f"Somebody holds a lease on a blob of {call.where} ({said})", "Break the lease")
    if code in ("BlobArchived", "BlobBeingRehydrated"):
        return StoreUnsuitable(f"A blob of {call.where} is archived", "Take wf/ and logs/ out of lifecycle rules")
    if status in (408, 409) or failing(status):
        return StoreUnavailable(f"{call.where} failed at a {call.verb} ({said})", "Try again later")
    if status in (401, 403):
        return _forbidden(error, said, call)
    if status == 507 or "QuotaExceeded" in code:
        return StoreFull(f"{call.where} has no space left ({said})", "Raise its quota or make room")
    if status in (405, 501):
        return StoreUnsuitable(f"{call.where} does not do a {call.verb} ({said})", "Use another store")
    if status == 404:
        return StoreConfigError(f"What answers for {call.where} is not Azure Blob Storage ({said})", "Check the URL")
    return StoreError(f"{call.where} refused a {call.verb} ({said})", "Check the settings of the account")


def _forbidden(error: HttpResponseError, said: str, call: Call) -> StorePermission:
    code, detail = _code(error), one_line(error)
    if code in ("AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"):
        if "Date header" in detail or "date header" in detail:
            return StorePermission(
                f"The clock of this host is too far from that of {call.where}, which therefore refuses its signatures",
                "Set the clock, for example by NTP",
            )
        return StorePermission(
            f"{call.where} does not accept the credentials, or they have expired ({said})",
            "Renew the SAS token, the key or the login and start again",
        )
    return StorePermission(
        f"{call.where} does not allow a {call.verb} ({said})",
        f"Grant the right to {_RIGHTS[call.verb]} blobs (Storage Blob Data Contributor), and look at its firewall",
    )


def _code(error: HttpResponseError) -> str:
    code = getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")


def _not_sent(error: Exception) -> bool:
    """Whether no connection came about. The SDK's own word for it covers more than that."""
    refused_by_sdk = isinstance(error, ServiceRequestError) and error.inner_exception is None
    return refused_by_sdk or any(isinstance(one, _NO_CONNECTION) for one in causes(error))


def _untrusted(error: Exception) -> bool:
    # Other errors of TLS may come in the middle of an answer; this one comes before a request is sent.
    return any(isinstance(one, http.SSLError) for one in causes(error)) and "CERTIFICATE_VERIFY_FAILED" in str(error)
