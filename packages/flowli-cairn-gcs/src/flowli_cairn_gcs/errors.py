"""From the errors of the Google SDK to those of the cairn, and to what a write came to.

=======================  ==================================  ===========================================
the service says         a write came to                     a read raises
=======================  ==================================  ===========================================
412                      ``Lost`` or ``Gone`` (no retry is   cannot be
                         in between), by one look more
404 of an object         ``Gone``                            means None
429, rateLimitExceeded   ``StoreThrottled``                  ``StoreThrottled``
409, 408, 500, 502, …    ``Unknown``                         ``StoreUnavailable``
no answer, cut answer    ``Unknown``                         ``StoreUnavailable``
no connection            ``StoreUnavailable``                ``StoreUnavailable``
any other refusal        its own class                       its own class
=======================  ==================================  ===========================================

Before a store has answered once, no connection, or no answer to three requests, means a wrong address or a host without
network: then it is a plain ``StoreError``, which nobody tries again.
"""

from __future__ import annotations

from google.api_core.exceptions import GoogleAPICallError
from google.auth import exceptions as auth
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

_THROTTLED = ("rateLimitExceeded", "userRateLimitExceeded", "slowDown")
_UNSURE = frozenset({408, 409})
_NO_CONNECTION = (
    http.ConnectTimeout,
    http.ProxyError,
    wire.NewConnectionError,
    wire.ConnectTimeoutError,
    wire.NameResolutionError,
)
_BAD_SETTINGS = (http.InvalidURL, http.InvalidSchema, http.MissingSchema)
_TRIES = 3
_RIGHTS = {
    "get": "storage.objects.get, and storage.objects.list, without which an absent key is refused",
    "put": "storage.objects.create, and storage.objects.delete, which replacing needs",
    "delete": "storage.objects.delete",
    "delete_many": "storage.objects.delete",
    "list": "storage.objects.list",
    "look at settings": "storage.buckets.get",
}


def answered(error: Exception) -> bool:
    """Whether the error is an answer of the service."""
    return isinstance(error, GoogleAPICallError)


def expired(error: Exception) -> bool:
    """Whether the credentials are no longer valid, so that reading them anew may find newer ones."""
    return isinstance(error, auth.RefreshError) and not error.retryable


def fate(error: Exception, call: Call) -> Unknown:
    """What a write came to that ended with ``error``.

    Raises:
        StoreError: it was refused, and nothing was written.
    """
    if isinstance(error, GoogleAPICallError):
        status, said = _code(error)
        if status in _UNSURE or (failing(status) and not _throttling(status, said)):
            return Unknown(f"Google Cloud Storage answered a {call.verb} with {status}: {said}")
        raise refusal(error, call) from error
    if _not_sent(error) or _untrusted(error) or isinstance(error, auth.GoogleAuthError):
        raise refusal(error, call) from error
    return Unknown(f"no whole answer came to a {call.verb} ({one_line(error)})")


def refusal(error: Exception, call: Call) -> StoreError:
    """The error of the cairn that says the same as ``error``, raised by a read or by a write that did not happen."""
    if isinstance(error, GoogleAPICallError):
        return _refused(error, call)
    if isinstance(error, auth.GoogleAuthError):
        return _not_let_in(error, call)
    if _untrusted(error):
        return StoreConfigError(
            f"The certificate of {call.where} is not trusted: {one_line(error)}",
            "Check endpoint_url, or name the authority in REQUESTS_CA_BUNDLE",
        )
    kind = StoreUnavailable if call.reached else StoreError
    if _not_sent(error):
        return kind(f"{call.where} cannot be reached: {one_line(error)}", "Check endpoint_url and the network")
    if isinstance(error, TimeoutError | http.ReadTimeout):
        return kind(f"{call.where} gave no answer in time", "Check the storage URL, the credentials and the network")
    kind = StoreUnavailable if call.reached or call.tries < _TRIES else StoreError
    return kind(f"{call.where} gave no whole answer to a {call.verb}: {one_line(error)}", "Check the storage URL")


def unusable(error: Exception, call: Call) -> StoreError:
    """The error of the cairn for settings or credentials with which no client can be made."""
    if isinstance(error, auth.GoogleAuthError) and not isinstance(error, auth.MalformedError):
        return _not_let_in(error, call)
    return StoreConfigError(
        f"The settings of {call.where} cannot be used: {one_line(error)}", "Correct the storage URL or the key file"
    )


def _not_let_in(error: auth.GoogleAuthError, call: Call) -> StoreError:
    if isinstance(error, auth.InvalidOperation):
        return StorePermission(
            f"{call.where} wants credentials, and none are sent to an address without TLS",
            "Give an endpoint_url that begins with https://",
        )
    if isinstance(error, auth.DefaultCredentialsError):
        return StorePermission(
            f"There are no credentials for {call.where}",
            "Run gcloud auth application-default login, name a key_file, or give this host a service account",
        )
    if isinstance(error, auth.TransportError):
        kind = StoreUnavailable if call.reached else StoreError
        return kind(f"The token for {call.where} could not be fetched: {one_line(error)}", "Check the network")
    if error.retryable:
        return StoreUnavailable(
            f"The token for {call.where} could not be renewed: {one_line(error)}", "Try again later"
        )
    return StorePermission(
        f"The credentials for {call.where} have expired or were revoked ({one_line(error)})",
        "Renew them: gcloud auth application-default login, or a new key file",
    )


def _refused(error: GoogleAPICallError, call: Call) -> StoreError:
    status, said = _code(error)
    if _throttling(status, said):
        return StoreThrottled(f"{call.where} takes fewer requests than it gets ({said})", "Try again later")
    if status in _UNSURE or failing(status):
        return StoreUnavailable(f"{call.where} failed at a {call.verb} ({status} {said})", "Try again later")
    if status == 404:
        return StoreMissing(f"There is no bucket {call.where}", "Create it, or correct the storage URL")
    if status == 507 or "quotaExceeded" in said:
        return StoreFull(f"{call.where} has no space left ({said})", "Raise its quota or make room")
    if status in (405, 501):
        return StoreUnsuitable(f"{call.where} does not do a {call.verb} ({said})", "Use another store")
    if status == 401:
        return StorePermission(
            f"{call.where} does not accept the credentials ({said})", "Renew them, or check the key file"
        )
    if "retention" in said.lower() or "hold" in said.lower().split():
        return StorePermission(
            f"An object of {call.where} may not be changed ({said})", "Take retention policies and holds off the bucket"
        )
    if status == 403:
        return StorePermission(f"{call.where} does not allow a {call.verb} ({said})", f"Grant {_RIGHTS[call.verb]}")
    if "userProject" in said or "user project" in said:
        return StoreConfigError(f"{call.where} wants to know who pays ({said})", "Add user_project to the storage URL")
    return StoreError(f"{call.where} refused a {call.verb} ({status} {said})", "Check the settings of the bucket")


def _code(error: GoogleAPICallError) -> tuple[int, str]:
    reasons = {str(one.get("reason", "")) for one in error.errors if isinstance(one, dict)} - {""}
    said = " ".join([*sorted(reasons), " ".join(str(error.message).split()).rstrip(".: ")])
    return int(error.code or 0), said


def _throttling(status: int, said: str) -> bool:
    return status == 429 or (status in (403, 503) and any(one in said for one in _THROTTLED))


def _not_sent(error: Exception) -> bool:
    return isinstance(error, _BAD_SETTINGS) or any(isinstance(one, _NO_CONNECTION) for one in causes(error))


def _untrusted(error: Exception) -> bool:
    # Other errors of TLS may come in the middle of an answer; this one comes before a request is sent.
    return isinstance(error, http.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error)
