"""From the errors of botocore to those of the cairn, and to what a write came to.

======================  ==================================  ===========================================
S3 says                 a write came to                     a read raises
======================  ==================================  ===========================================
412                     ``Lost`` (no retry is in between)   cannot be
404 NoSuchKey           ``Gone``                            means None
409                     ``Unknown``: nothing was decided    ``StoreUnavailable``
SlowDown, 429           ``StoreThrottled``                  ``StoreThrottled``
500, 502, 504, …        ``Unknown``                         ``StoreUnavailable``
no answer, cut answer   ``Unknown``                         ``StoreUnavailable``
no connection           ``StoreUnavailable``                ``StoreUnavailable``
any other refusal       its own class                       its own class
======================  ==================================  ===========================================

Before a store has answered once, no connection, or no answer to three requests, means a wrong address or a host without
network: then it is a plain ``StoreError``, which nobody tries again.
"""

from __future__ import annotations

from botocore import exceptions as sdk

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
from flowli.cairn.remote.causes import failing, one_line
from flowli.cairn.remote.dialect import Call, Fate
from flowli.cairn.write import Gone, Lost, Unknown

__all__ = ["Call", "answered", "expired", "fate", "refusal", "unusable"]

# These are raised before a request has left.
_NOT_SENT = (
    sdk.ConnectTimeoutError,
    sdk.EndpointConnectionError,
    sdk.ProxyConnectionError,
    sdk.NoCredentialsError,
    sdk.PartialCredentialsError,
    sdk.CredentialRetrievalError,
    sdk.TokenRetrievalError,
    sdk.SSOError,
    sdk.ProfileNotFound,
    sdk.ConfigParseError,
    sdk.ConfigNotFound,
    sdk.NoRegionError,
    sdk.InvalidRegionError,
    sdk.ParamValidationError,
    sdk.EndpointProviderError,
)

_THROTTLED = frozenset(
    {
        "SlowDown",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestLimitExceeded",
        "BandwidthLimitExceeded",
        "TooManyRequests",
        "TooManyRequestsException",
        "SlowDownRead",
        "SlowDownWrite",
    }
)
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"})
_UNKNOWN_KEY = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity"})
_FULL = frozenset({"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "XMinioAdminBucketQuotaExceeded"})
_ELSEWHERE = frozenset(
    {"PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
_TRIES = 3
_RIGHTS = {
    "get": "s3:GetObject, and s3:ListBucket, without which S3 refuses to say that a key is absent",
    "put": "s3:PutObject",
    "delete": "s3:DeleteObject",
    "delete_many": "s3:DeleteObject",
    "list": "s3:ListBucket",
    "look at settings": "the right to read that setting",
}


def answered(error: Exception) -> bool:
    """Whether the error is an answer of the service."""
    return isinstance(error, sdk.ClientError)


def expired(error: Exception) -> bool:
    """Whether the credentials are no longer valid, so that a new session may find newer ones."""
    return isinstance(error, sdk.ClientError) and _code(error)[0] in _EXPIRED


def fate(error: Exception, call: Call) -> Fate:
    """What a write came to that ended with ``error``.

    Raises:
        StoreError: it was refused, and nothing was written.
    """
    if isinstance(error, sdk.ClientError):
        code, status, message = _code(error)
        if code == "PreconditionFailed" or status == 412:
            return Lost()
        if code == "NoSuchKey":
            return Gone()
        if code == "RequestTimeout" or (code not in _THROTTLED and (status == 409 or failing(status))):
            return Unknown(f"S3 answered a {call.verb} with {status} {code}: {message}")
        raise refusal(error, call) from error
    if isinstance(error, _NOT_SENT) or _untrusted(error):
        raise refusal(error, call) from error
    return Unknown(f"no whole answer came to a {call.verb} ({one_line(error)})")


def refusal(error: Exception, call: Call) -> StoreError:
    """The error of the cairn that says the same as ``error``, raised by a read or by a write that did not happen."""
    if isinstance(error, sdk.ClientError):
        return _answered(error, call)
    if isinstance(error, sdk.ConnectTimeoutError | sdk.EndpointConnectionError | sdk.ProxyConnectionError):
        kind = StoreUnavailable if call.reached else StoreError
        return kind(f"{call.where} cannot be reached: {one_line(error)}", "Check endpoint_url, region and the network")
    if _untrusted(error):
        return StoreConfigError(
            f"The certificate of {call.where} is not trusted: {one_line(error)}",
            "Check endpoint_url, or name the authority in AWS_CA_BUNDLE",
        )
    if isinstance(error, sdk.NoCredentialsError | sdk.PartialCredentialsError):
        return StorePermission(
            f"There are no credentials for {call.where}",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile, or give this host a role",
        )
    if isinstance(error, sdk.CredentialRetrievalError | sdk.TokenRetrievalError | sdk.SSOError):
        return StorePermission(
            f"The credentials for {call.where} could not be fetched: {one_line(error)}", "Log in again: aws sso login"
        )
    if isinstance(error, _NOT_SENT):
        return unusable(error, call)
    kind = StoreUnavailable if call.reached else StoreError
    if isinstance(error, TimeoutError | sdk.ReadTimeoutError):
        return kind(f"{call.where} gave no answer in time", "Check the storage URL, the credentials and the network")
    kind = StoreUnavailable if call.reached or call.tries < _TRIES else StoreError
    return kind(f"{call.where} gave no whole answer to a {call.verb}: {one_line(error)}", "Check the storage URL")


def unusable(error: Exception, call: Call) -> StoreError:
    """The error of the cairn for settings with which no client can be made."""
    return StoreConfigError(
        f"The settings of {call.where} cannot be used: {one_line(error)}", "Correct the storage URL or the AWS profile"
    )


def _answered(error: sdk.ClientError, call: Call) -> StoreError:
    code, status, message = _code(error)
    said = f"{code}: {message}" if message else code
    if code in _THROTTLED or status == 429:
        return StoreThrottled(f"{call.where} takes fewer requests than it gets ({said})", "Try again later")
    if status == 409 or failing(status) or code == "RequestTimeout":
        return StoreUnavailable(f"{call.where} failed at a {call.verb} ({status} {said})", "Try again later")
    if code == "NoSuchBucket":
        return StoreMissing(f"There is no bucket {call.where}", "Create it, or correct the storage URL")
    if code in _ELSEWHERE or status in (301, 302, 307):
        region = error.response.get("Error", {}).get("Region") or "that of the bucket"
        return StoreConfigError(
            f"The bucket {call.where} is not in the region asked ({said})", f"Set region in the storage URL to {region}"
        )
    if code == "InvalidBucketName":
        return StoreConfigError(f"{call.where} cannot be the name of a bucket", "Correct the storage URL")
    if code in _FULL or status == 507:
        return StoreFull(f"{call.where} has no space left ({said})", "Raise its quota or make room")
    if code.startswith("KMS."):
        return StorePermission(
            f"The key that encrypts {call.where} cannot be used ({said})", "Check kms_key_id and kms:GenerateDataKey"
        )
    if code == "NotImplemented" or status in (405, 501):
        return StoreUnsuitable(
            f"{call.where} does not do a {call.verb} as flowli needs it ({said})",
            "Add conditional_delete=false to the storage URL" if call.verb == "delete" else "Use another store",
        )
    if code == "InvalidObjectState":
        return StoreUnsuitable(f"An object of {call.where} is archived", "Take wf/ and logs/ out of lifecycle rules")
    if status in (401, 403) or code in _EXPIRED | _UNKNOWN_KEY:
        return _forbidden(code, said, call)
    if status == 404:
        return StoreConfigError(f"What answers for {call.where} is not S3 ({said})", "Check endpoint_url")
    return StoreError(f"{call.where} refused a {call.verb} ({status} {said})", "Check the settings of the bucket")


def _forbidden(code: str, said: str, call: Call) -> StorePermission:
    if code in _EXPIRED:
        return StorePermission(
            f"The credentials for {call.where} have expired", "Renew them (for example aws sso login) and start again"
        )
    if code == "RequestTimeTooSkewed":
        return StorePermission(
            f"The clock of this host is too far from that of {call.where}, which therefore refuses its signatures",
            "Set the clock, for example by NTP",
        )
    if code in _UNKNOWN_KEY:
        return StorePermission(f"{call.where} does not accept the credentials ({said})", "Check the access key")
    return StorePermission(
        f"{call.where} does not allow a {call.verb} ({said})", f"Grant {_RIGHTS[call.verb]}, and the KMS key if any"
    )


def _code(error: sdk.ClientError) -> tuple[str, int, str]:
    told = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return str(told.get("Code", "")), int(status), str(told.get("Message", "")).rstrip(".")


def _untrusted(error: Exception) -> bool:
    # Other errors of TLS may come in the middle of an answer; this one comes before a request is sent.
    return isinstance(error, sdk.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error)
