"""What each answer of the service means, by the SDK's own errors."""

from types import SimpleNamespace

import pytest
from azure.core import exceptions as sdk
from requests import exceptions as http
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from flowli.cairn import errors
from flowli.cairn.write import Unknown
from flowli_cairn_azure.config import AzureConfig
from flowli_cairn_azure.errors import Call, expired, fate, refusal, unusable

CONFIG = AzureConfig("flows", account="acme")


def answer(status: int, code: str, kind=sdk.HttpResponseError, message: str = "So it is.") -> sdk.HttpResponseError:
    error = kind(message)
    error.status_code, error.error_code = status, SimpleNamespace(value=code)
    return error


def wrapped(kind, inner: Exception) -> sdk.AzureError:
    return kind(inner, error=inner)


def call(verb: str = "put", *, reached: bool = True) -> Call:
    return Call(verb, CONFIG, reached)


NO_ROUTE = http.ConnectionError(MaxRetryError(None, "/", NewConnectionError(None, "no route")))
RESET = http.ConnectionError(ProtocolError("Connection aborted.", ConnectionResetError()))


@pytest.mark.parametrize(
    "error",
    [
        answer(500, "OperationTimedOut"),
        answer(500, "InternalError"),
        answer(503, ""),
        answer(409, "OperationNotAllowed"),
        wrapped(sdk.ServiceResponseError, RESET),
        wrapped(sdk.ServiceRequestError, http.ConnectionError(OSError("reset"))),
        wrapped(sdk.ServiceResponseTimeoutError, http.ReadTimeout("8 s")),
        sdk.IncompleteReadError("cut"),
        sdk.DecodeError("no XML"),
    ],
    ids=repr,
)
def test_a_write_without_a_final_answer_is_unknown_and_a_read_may_be_repeated(error):
    assert isinstance(fate(error, call()), Unknown)
    assert isinstance(refusal(error, call("get")), errors.StoreUnavailable)


@pytest.mark.parametrize("error", [answer(503, "ServerBusy"), answer(429, "TooManyRequests")], ids=repr)
def test_throttles_are_throttles(error):
    with pytest.raises(errors.StoreThrottled):
        fate(error, call())
    assert isinstance(refusal(error, call("get")), errors.StoreThrottled)


@pytest.mark.parametrize(
    "error",
    [
        wrapped(sdk.ServiceRequestError, NO_ROUTE),
        wrapped(sdk.ServiceRequestTimeoutError, http.ConnectTimeout("3 s")),
    ],
    ids=repr,
)
def test_no_connection_may_pass_once_there_was_one_and_needs_the_operator_before(error):
    with pytest.raises(errors.StoreUnavailable):
        fate(error, call())
    with pytest.raises(errors.StoreError) as caught:
        fate(error, call(reached=False))
    assert type(caught.value) is errors.StoreError


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (answer(404, "ContainerNotFound"), errors.StoreMissing, "no container az://flows at account acme."),
        (answer(409, "ContainerBeingDeleted"), errors.StoreMissing, "Create it"),
        (answer(403, "AuthorizationPermissionMismatch"), errors.StorePermission, "Storage Blob Data Contributor"),
        (answer(403, "AuthenticationFailed"), errors.StorePermission, "or they have expired"),
        (
            answer(403, "AuthenticationFailed", message="Request date header too old"),
            errors.StorePermission,
            "Set the clock",
        ),
        (answer(409, "BlobImmutableDueToPolicy"), errors.StorePermission, "immutability policies"),
        (answer(412, "LeaseIdMissing"), errors.StorePermission, "Break the lease"),
        (answer(507, "x"), errors.StoreFull, "make room"),
        (answer(501, "x"), errors.StoreUnsuitable, "does not do a put"),
        (answer(404, ""), errors.StoreConfigError, "is not Azure Blob Storage"),
        (answer(400, "InvalidHeaderValue"), errors.StoreError, "refused a put"),
        (sdk.ClientAuthenticationError("none worked"), errors.StorePermission, "Run az login"),
        (
            wrapped(sdk.ServiceRequestError, http.SSLError("CERTIFICATE_VERIFY_FAILED")),
            errors.StoreConfigError,
            "REQUESTS_CA_BUNDLE",
        ),
    ],
    ids=repr,
)
def test_a_refusal_is_raised_and_says_what_to_do(error, kind, sentence):
    with pytest.raises(kind) as caught:
        fate(error, call())
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_that_make_no_client_are_named():
    assert isinstance(unusable(ValueError("Incorrect padding"), call()), errors.StoreConfigError)


def test_only_credentials_that_are_refused_are_looked_up_anew():
    assert expired(answer(403, "AuthenticationFailed", sdk.ClientAuthenticationError))
    assert not expired(answer(403, "AuthorizationPermissionMismatch", sdk.ClientAuthenticationError))
    assert not expired(answer(500, "InternalError"))
