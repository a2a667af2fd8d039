import pytest

from flowli.cairn.errors import StoreConfigError
from flowli_cairn_s3.config import S3Config


def test_a_url_names_bucket_prefix_and_settings():
    config = S3Config.from_url(
        "s3://my-bucket/team%20a/flows/?region=eu-central-1&endpoint_url=https://s3.example.com:9000&addressing=path"
        "&sse=aws:kms&kms_key_id=alias/flowli&request_payer=true&conditional_delete=false&connections=8&read_timeout_s=2.5"
    )
    assert config == S3Config(
        "my-bucket",
        "team a/flows/",
        region="eu-central-1",
        endpoint_url="https://s3.example.com:9000",
        addressing="path",
        sse="aws:kms",
        kms_key_id="alias/flowli",
        request_payer=True,
        conditional_delete=False,
        connections=8,
        read_timeout_s=2.5,
    )
    assert S3Config.from_url(config.url) == config


def test_a_mapping_says_the_same_and_may_hold_credentials_that_are_shown_nowhere():
    config = S3Config.from_config(
        {"type": "s3", "bucket": "b-1", "prefix": "/x/y/", "access_key_id": "AK", "secret_access_key": "hush"}
    )
    assert (config.prefix, config.secret_access_key) == ("x/y/", "hush")
    assert config.url == "s3://b-1/x/y"
    assert "hush" not in repr(config)


def test_the_arn_of_an_access_point_is_a_bucket():
    arn = "arn:aws:s3:eu-west-1:123456789012:accesspoint/flows"
    assert S3Config.from_url(f"s3://{arn}?prefix=a").bucket == arn
    assert S3Config.from_url(S3Config.from_url(f"s3://{arn}?prefix=a").url).prefix == "a/"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("s3:bucket", "is not the URL of a bucket"),
        ("s3://", "'' cannot be the name of a bucket"),
        ("s3://a", "'a' cannot be the name"),
        ("s3://my bucket", "'my bucket' cannot be the name"),
        ("s3://AKIA:secret@bucket", "may not hold credentials"),
        ("s3://bucket?secret_access_key=hush", "may not hold 'secret_access_key'"),
        ("s3://bucket?regoin=eu", "no setting 'regoin'. Did you mean 'region'"),
        ("s3://bucket?addressing=host", "addressing='host' makes no sense. Use one of auto, path, virtual."),
        ("s3://bucket?sse=rot13", "sse='rot13' makes no sense"),
        ("s3://bucket?kms_key_id=k", "Add sse=aws:kms."),
        ("s3://bucket?sse=AES256&customer_key_file=k", "Both sse and customer_key_file are set"),
        ("s3://bucket?request_payer=yes", "Use true or false."),
        ("s3://bucket?connections=many", "Give a number above 0."),
        ("s3://bucket?connections=0", "Give a number above 0."),
        ("s3://bucket?endpoint_url=minio:9000", "is not an address"),
        ("s3://bucket/a/../b", "has a part that is '.' or '..'"),
        ("s3://bucket/" + "p" * 121, "the limit is 120"),
        ("s3://fast--use1-az4--x-s3", "directory bucket"),
    ],
)
def test_a_bad_url_is_refused_with_one_sentence_and_no_secret(url, sentence):
    with pytest.raises(StoreConfigError) as caught:
        S3Config.from_url(url)
    assert sentence in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "no 'bucket'"),
        ({"bucket": 7}, "no 'bucket'"),
        ({"bucket": "bucket", "prefix": 7}, "prefix=7 makes no sense. Give a text."),
        ({"bucket": "bucket", "connections": True}, "connections=True makes no sense"),
        ({"bucket": "bucket", "access_key_id": "AK"}, "Only one half of a key pair is set"),
    ],
)
def test_a_bad_mapping_is_refused_with_one_sentence(config, sentence):
    with pytest.raises(StoreConfigError) as caught:
        S3Config.from_config({"type": "s3"} | config)
    assert sentence in str(caught.value)
