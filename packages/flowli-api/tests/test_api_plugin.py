import flowli.api
import flowli_api.public
from flowli.plugins import discover


def test_it_is_listed_without_a_problem():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-api")
    assert (plugin.name, plugin.problem) == ("api", None)


def test_the_facade_shows_the_public_names_of_this_distribution():
    assert flowli.api.__all__ is flowli_api.public.__all__
    assert all(getattr(flowli.api, one) is getattr(flowli_api.public, one) for one in flowli_api.public.__all__)


NAMES = [
    "ApiConfig",
    "ApiError",
    "ApiKeyAuthenticator",
    "ApiRouter",
    "AsyncClient",
    "Authenticator",
    "Bill",
    "CachingAuthenticator",
    "Caller",
    "Client",
    "Grant",
    "Identity",
    "OIDCAuthenticator",
    "OIDCLogin",
    "RemoteConsumer",
    "Service",
    "ServiceOf",
    "StaticAuthenticator",
    "create_app",
    "requires",
]


def test_the_public_names_are_these():
    assert flowli_api.public.__all__ == NAMES
