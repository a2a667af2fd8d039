"""What each answer of the service means, by the SDK's own errors."""

import pytest
from google.api_core import exceptions as sdk
from google.auth import exceptions as auth
from requests import exceptions as http
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from flowli.cairn import errors
from flowli.cairn.write import Unknown
from flowli_cairn_gcs.config import GcsConfig
from flowli_cairn_gcs.errors import Call, expired, fate, refusal, unusable

CONFIG = GcsConfig("bucket")
NO_ROUTE = http.ConnectionError(MaxRetryError(None, "/", NewConnectionError(None, "no route")))  # type: ignore[arg-type]


def call(verb: str = "put", *, reached: bool = True) -> Call:
    return Call(verb, CONFIG, reached)


@pytest.mark.parametrize(
    "error",
    [
        sdk.Conflict("busy"),
        sdk.from_http_status(408, "slow"),
        sdk.InternalServerError("oops"),
        sdk.BadGateway("oops"),
        sdk.ServiceUnavailable("oops"),
        http.ReadTimeout("8 s"),
        http.ConnectionError(ProtocolError("Connection aborted.", ConnectionResetError())),
        http.ChunkedEncodingError("cut"),
        ValueError("no JSON"),
    ],
    ids=repr,
)
def test_a_write_without_a_final_answer_is_unknown_and_a_read_may_be_repeated(error):
    assert isinstance(fate(error, call()), Unknown)
    assert isinstance(refusal(error, call("get")), errors.StoreUnavailable)


@pytest.mark.parametrize(
    "error",
    [
        sdk.TooManyRequests("The object exceeded the rate limit"),
        sdk.ServiceUnavailable("x", errors=[{"reason": "slowDown"}]),
        sdk.Forbidden("x", errors=[{"reason": "userRateLimitExceeded"}]),
    ],
    ids=repr,
)
def test_throttles_are_throttles(error):
    with pytest.raises(errors.StoreThrottled):
        fate(error, call())
    assert isinstance(refusal(error, call("get")), errors.StoreThrottled)


@pytest.mark.parametrize("error", [NO_ROUTE, http.ConnectTimeout("3 s"), auth.TransportError("no host")], ids=repr)
def test_no_connection_may_pass_once_there_was_one_and_needs_the_operator_before(error):
    with pytest.raises(errors.StoreUnavailable):
        fate(error, call())
    with pytest.raises(errors.StoreError) as caught:
        fate(error, call(reached=False))
    assert type(caught.value) is errors.StoreError


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (sdk.NotFound("The specified bucket does not exist."), errors.StoreMissing, "There is no bucket gs://bucket."),
        (sdk.Forbidden("denied"), errors.StorePermission, "Grant storage.objects.create"),
        (sdk.Forbidden("x", errors=[{"reason": "retentionPolicyNotMet"}]), errors.StorePermission, "retention"),
        (sdk.Unauthorized("invalid"), errors.StorePermission, "does not accept the credentials"),
        (auth.RefreshError("invalid_grant"), errors.StorePermission, "have expired or were revoked"),
        (sdk.BadRequest("User project specified"), errors.StoreError, "refused a put"),
        (sdk.BadRequest("no user project given"), errors.StoreConfigError, "Add user_project"),
        (sdk.MethodNotImplemented("x"), errors.StoreUnsuitable, "does not do a put"),
        (http.SSLError("CERTIFICATE_VERIFY_FAILED"), errors.StoreConfigError, "REQUESTS_CA_BUNDLE"),
    ],
    ids=repr,
)
def test_a_refusal_is_raised_and_says_what_to_do(error, kind, sentence):
    with pytest.raises(kind) as caught:
        fate(error, call())
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_credentials_that_are_not_there_or_are_none_are_named_before_any_request():
    missing = unusable(auth.DefaultCredentialsError("none found"), call())
    assert isinstance(missing, errors.StorePermission)
    assert "gcloud auth application-default login" in str(missing)
    assert isinstance(unusable(FileNotFoundError("/etc/key.json"), call()), errors.StoreConfigError)
    assert isinstance(unusable(auth.MalformedError("no key"), call()), errors.StoreConfigError)


def test_only_credentials_that_will_not_work_again_are_read_anew():
    assert expired(auth.RefreshError("invalid_grant"))
    assert not expired(auth.RefreshError("busy", retryable=True))
    assert not expired(sdk.Forbidden("denied"))


def test_an_address_without_tls_gets_no_credentials():
    assert "begins with https://" in str(refusal(auth.InvalidOperation("anonymous"), call("get")))
