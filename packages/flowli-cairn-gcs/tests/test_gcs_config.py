import pytest

from flowli.cairn.errors import StoreConfigError
from flowli_cairn_gcs.config import GcsConfig


def test_a_url_names_bucket_prefix_and_settings():
    config = GcsConfig.from_url(
        "gs://my-bucket/team%20a/flows/?project=p-1&key_file=/etc/key.json&endpoint_url=https://storage.example.com"
        "&user_project=payer&storage_class=STANDARD&connections=8&read_timeout_s=2.5"
    )
    assert config == GcsConfig(
        "my-bucket",
        "team a/flows/",
        project="p-1",
        key_file="/etc/key.json",
        endpoint_url="https://storage.example.com",
        user_project="payer",
        storage_class="STANDARD",
        connections=8,
        read_timeout_s=2.5,
    )
    assert GcsConfig.from_url(config.url) == config


def test_a_mapping_says_the_same():
    config = GcsConfig.from_config({"type": "gs", "bucket": "b-1", "prefix": "/x/y/", "kms_key_name": "projects/p/k"})
    assert config == GcsConfig("b-1", "x/y/", kms_key_name="projects/p/k")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("gs:bucket", "is not the URL of a bucket"),
        ("gs://", "'' cannot be the name of a bucket"),
        ("gs://bucket?kms_key_name=k&customer_key_file=k", "Both kms_key_name and customer_key_file are set"),
        ("gs://Bucket", "'Bucket' cannot be the name"),
        ("gs://key@bucket", "may not hold credentials"),
        ("gs://bucket?projekt=p", "no setting 'projekt'. Did you mean 'project'"),
        ("gs://bucket?connections=many", "Give a number above 0."),
        ("gs://bucket?endpoint_url=localhost:4443", "is not an address"),
        ("gs://bucket/a//b", "has an empty part"),
        ("gs://bucket/" + "p" * 121, "the limit is 120"),
    ],
)
def test_a_bad_url_is_refused_with_one_sentence(url, sentence):
    with pytest.raises(StoreConfigError) as caught:
        GcsConfig.from_url(url)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "no 'bucket'"),
        ({"bucket": "bucket", "prefix": 7}, "prefix=7 makes no sense. Give a text."),
        ({"bucket": "bucket", "connections": True}, "connections=True makes no sense"),
        ({"bucket": "bucket", "zzz": 1}, "There are prefix, project"),
    ],
)
def test_a_bad_mapping_is_refused_with_one_sentence(config, sentence):
    with pytest.raises(StoreConfigError) as caught:
        GcsConfig.from_config({"type": "gs"} | config)
    assert sentence in str(caught.value)
