import pytest

from flowli.cairn.errors import StoreConfigError
from flowli_cairn_azure.client import make_client
from flowli_cairn_azure.config import AzureConfig

KEY = "a2V5"


def test_a_url_names_container_prefix_and_settings():
    config = AzureConfig.from_url(
        "az://flows/team%20a/x/?account=acme&endpoint_url=https://acme.blob.core.example.net&encryption_scope=s-1"
        "&connections=8&read_timeout_s=2.5"
    )
    assert config == AzureConfig(
        "flows",
        "team a/x/",
        account="acme",
        endpoint_url="https://acme.blob.core.example.net",
        encryption_scope="s-1",
        connections=8,
        read_timeout_s=2.5,
    )
    assert AzureConfig.from_url(config.url) == config


def test_a_mapping_may_hold_secrets_that_are_shown_nowhere():
    config = AzureConfig.from_config(
        {"type": "az", "container": "flows", "account": "acme", "account_key": "hush", "prefix": "/x/"}
    )
    assert (config.prefix, config.account_key) == ("x/", "hush")
    assert config.url == "az://flows/x?account=acme"
    assert "hush" not in repr(config)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("az:flows", "is not the URL of a container"),
        ("az://", "'' cannot be the name of a container"),
        ("az://flows?access_tier=Archive", "Use one of Hot, Cool, Cold."),
        ("az://flows?encryption_scope=s&customer_key_file=k", "Both encryption_scope and customer_key_file are set"),
        ("az://who:secret@flows", "may not hold credentials"),
        ("az://Flows", "'Flows' cannot be the name"),
        ("az://a--b", "'a--b' cannot be the name"),
        ("az://flows?account=not-one", "cannot be the name of a storage account"),
        ("az://flows?sas_token=hush", "may not hold 'sas_token'"),
        ("az://flows?sv=1&sig=hush", "may not hold 'sig'"),
        ("az://flows?acount=a", "no setting 'acount'. Did you mean 'account'"),
        ("az://flows?connections=0", "Give a number above 0."),
        ("az://flows?endpoint_url=localhost:10000", "is not an address"),
        ("az://flows/a/../b", "has a part that is '.' or '..'"),
    ],
)
def test_a_bad_url_is_refused_with_one_sentence_and_no_secret(url, sentence):
    with pytest.raises(StoreConfigError) as caught:
        AzureConfig.from_url(url)
    assert sentence in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "no 'container'"),
        ({"container": "flows", "prefix": 7}, "prefix=7 makes no sense. Give a text."),
        ({"container": "flows", "account_key": 7}, "account_key=… makes no sense"),
    ],
)
def test_a_bad_mapping_is_refused_with_one_sentence(config, sentence):
    with pytest.raises(StoreConfigError) as caught:
        AzureConfig.from_config({"type": "az"} | config)
    assert sentence in str(caught.value)


@pytest.fixture
def environment(monkeypatch):
    for name in ("ACCOUNT", "KEY", "SAS_TOKEN", "CONNECTION_STRING"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    return monkeypatch


def test_the_account_is_named_by_the_url_or_by_the_environment(environment):
    with pytest.raises(StoreConfigError, match="No storage account is named for az://flows"):
        make_client(AzureConfig("flows"))
    environment.setenv("AZURE_STORAGE_ACCOUNT", "other")
    environment.setenv("AZURE_STORAGE_KEY", KEY)
    assert make_client(AzureConfig("flows")).container.url == "https://other.blob.core.windows.net/flows"
    named = make_client(AzureConfig("flows", account="acme"))
    assert named.container.url == "https://acme.blob.core.windows.net/flows"
    named.close()


def test_a_connection_string_serves_where_no_account_is_named(environment):
    said = f"DefaultEndpointsProtocol=https;AccountName=fromstring;AccountKey={KEY};EndpointSuffix=core.windows.net"
    environment.setenv("AZURE_STORAGE_CONNECTION_STRING", said)
    assert make_client(AzureConfig("flows")).container.account_name == "fromstring"
    environment.setenv("AZURE_STORAGE_KEY", KEY)
    assert make_client(AzureConfig("flows", account="acme")).container.account_name == "acme"
    assert make_client(AzureConfig("flows", account="acme", connection_string=said)).container.account_name == (
        "fromstring"
    )


def test_a_sas_token_travels_with_every_request(environment):
    client = make_client(AzureConfig("flows", account="acme", sas_token="?sv=1&sig=x"))
    assert client.container.credential.signature == "sv=1&sig=x"
