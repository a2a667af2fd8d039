"""What each answer of S3 means, by the SDK's own errors."""

import pytest
from botocore import exceptions as sdk

from flowli.cairn import errors
from flowli.cairn.write import Gone, Lost, Unknown
from flowli_cairn_s3.config import S3Config
from flowli_cairn_s3.errors import Call, fate, refusal

CONFIG = S3Config("bucket", endpoint_url="http://minio:9000")


def answer(status: int, code: str, **told: str) -> sdk.ClientError:
    return sdk.ClientError(
        {"Error": {"Code": code, "Message": "So it is.", **told}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Put"
    )


def call(verb: str = "put", *, reached: bool = True) -> Call:
    return Call(verb, CONFIG, reached)


UNSURE = [
    answer(409, "ConditionalRequestConflict"),
    answer(409, "OperationAborted"),
    answer(500, "InternalError"),
    answer(502, "502"),
    answer(503, "503"),
    answer(400, "RequestTimeout"),
    sdk.ReadTimeoutError(endpoint_url="http://minio:9000"),
    sdk.ConnectionClosedError(endpoint_url="http://minio:9000"),
    sdk.HTTPClientError(error=OSError("reset")),
    sdk.ResponseStreamingError(error=OSError("cut")),
]


@pytest.mark.parametrize("error", UNSURE, ids=str)
def test_a_write_without_a_final_answer_is_unknown_and_a_read_may_be_repeated(error):
    assert isinstance(fate(error, call()), Unknown)
    assert isinstance(refusal(error, call("get")), errors.StoreUnavailable)


def test_a_condition_that_does_not_hold_is_lost_and_a_missing_key_is_gone():
    assert fate(answer(412, "PreconditionFailed"), call()) == Lost()
    assert fate(answer(404, "NoSuchKey"), call()) == Gone()


@pytest.mark.parametrize(
    "error", [answer(503, "SlowDown"), answer(503, "ServiceUnavailable"), answer(429, "TooManyRequests")], ids=str
)
def test_throttles_are_throttles(error):
    with pytest.raises(errors.StoreThrottled):
        fate(error, call())
    assert isinstance(refusal(error, call("get")), errors.StoreThrottled)


@pytest.mark.parametrize(
    "error",
    [
        sdk.ConnectTimeoutError(endpoint_url="http://minio:9000"),
        sdk.EndpointConnectionError(endpoint_url="http://minio:9000", error="refused"),
    ],
    ids=str,
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
        (answer(404, "NoSuchBucket"), errors.StoreMissing, "There is no bucket s3://bucket at http://minio:9000."),
        (answer(403, "AccessDenied"), errors.StorePermission, "Grant s3:PutObject"),
        (answer(400, "ExpiredToken"), errors.StorePermission, "have expired"),
        (answer(403, "SignatureDoesNotMatch"), errors.StorePermission, "Check the access key."),
        (answer(403, "RequestTimeTooSkewed"), errors.StorePermission, "Set the clock"),
        (answer(301, "PermanentRedirect"), errors.StoreConfigError, "Set region in the storage URL"),
        (answer(400, "AuthorizationHeaderMalformed", Region="eu-1"), errors.StoreConfigError, "URL to eu-1."),
        (answer(507, "InsufficientStorage"), errors.StoreFull, "make room"),
        (answer(501, "NotImplemented"), errors.StoreUnsuitable, "does not do a put"),
        (answer(400, "KMS.DisabledException"), errors.StorePermission, "Check kms_key_id"),
        (answer(404, "404"), errors.StoreConfigError, "is not S3"),
        (answer(400, "InvalidStorageClass"), errors.StoreError, "refused a put"),
        (sdk.NoCredentialsError(), errors.StorePermission, "There are no credentials"),
        (sdk.SSLError(endpoint_url="x", error="CERTIFICATE_VERIFY_FAILED"), errors.StoreConfigError, "AWS_CA_BUNDLE"),
        (sdk.TokenRetrievalError(provider="sso", error_msg="x"), errors.StorePermission, "aws sso login"),
    ],
    ids=str,
)
def test_a_refusal_is_raised_and_says_what_to_do(error, kind, sentence):
    with pytest.raises(kind) as caught:
        fate(error, call())
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_refused_to_a_conditional_delete_says_how_to_do_without():
    with pytest.raises(errors.StoreUnsuitable, match="conditional_delete=false"):
        fate(answer(501, "NotImplemented"), call("delete"))


def test_an_archived_object_names_the_lifecycle_rule():
    assert "lifecycle" in str(refusal(answer(403, "InvalidObjectState"), call("get")))
