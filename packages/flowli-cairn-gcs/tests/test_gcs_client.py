"""Who is let in: a key file, and nothing at all where only an emulator answers."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from flowli_cairn_gcs.client import make_client
from flowli_cairn_gcs.config import GcsConfig


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """A key file of a service account that was made up here."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "key.json"
    told = {
        "type": "service_account",
        "project_id": "acme",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "flows@acme.example.com",
        "token_uri": "https://127.0.0.1:9/token",
    }
    path.write_text(json.dumps(told))
    return path


def test_a_key_file_names_the_account_and_the_project(key_file: Path) -> None:
    client = make_client(GcsConfig("bucket", key_file=str(key_file)))
    assert client._session.credentials.service_account_email == "flows@acme.example.com"
    assert client._client.project == "acme"
    client.close()
    client = make_client(GcsConfig("bucket", key_file=str(key_file), project="other"))
    assert client._client.project == "other"
    client.close()


def test_the_connections_are_as_many_as_the_threads(key_file: Path) -> None:
    client = make_client(GcsConfig("bucket", key_file=str(key_file), connections=7))
    assert client._session.get_adapter("https://storage.googleapis.com")._pool_maxsize == 7
    assert client._session.get_adapter("https://storage.googleapis.com").max_retries.total == 0
    client.close()


def test_over_http_nothing_is_sent_that_proves_who_asks(key_file: Path) -> None:
    client = make_client(GcsConfig("bucket", key_file=str(key_file), endpoint_url="http://127.0.0.1:9"))
    assert type(client._session.credentials).__name__ == "AnonymousCredentials"
    client.close()
