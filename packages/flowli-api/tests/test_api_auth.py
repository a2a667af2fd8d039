"""Ways to be known, and what may be said of callers."""

import pytest

from flowli import plugins
from flowli.descriptors import ApiRouterType, AuthenticatorType
from flowli.domain.errors import UsageError
from flowli.plugins import Manager, PluginError, Source
from flowli.world import SYSTEM
from flowli_api import extensions
from flowli_api.auth.capabilities import capabilities
from flowli_api.auth.identity import Identity
from flowli_api.auth.keys import ApiKeyAuthenticator, draw
from flowli_api.auth.named import open_authenticator
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.cli.authenticating import authenticating
from flowli_api.config import ApiConfig
from flowli_api.routing import ApiRouter, requires


async def test_a_key_is_known_by_its_hash_alone():
    key, row = draw(SYSTEM, "ci")
    assert key.rpartition("_")[2] not in str(row)
    known = ApiKeyAuthenticator.from_settings({"keys": [{**row, "capabilities": ["executions:start"]}]})
    identity = await known.authenticate(key)
    assert (identity.subject, identity.kind, identity.capabilities) == ("ci", "system", {"executions:start"})
    other, _ = draw(SYSTEM, "ci")
    wrong = [
        other,
        key[:-1],
        key + "0",
        key.upper(),
        key[:-1] + ("0" if key[-1] != "0" else "1"),
        "",
        "fk_",
        key.replace("_", "-"),
    ]
    assert [await known.authenticate(one) for one in wrong] == [None] * len(wrong)


async def test_tokens_come_from_settings_too():
    rows = [{"token": "a-token-that-is-long", "subject": "ada", "capabilities": ["admin"], "workflows": ["ask"]}]
    rows[0]["groups"] = ["finance"]
    identity = await StaticAuthenticator.from_settings({"tokens": rows}).authenticate("a-token-that-is-long")
    assert (identity.subject, identity.workflows, identity.groups) == ("ada", {"ask"}, {"finance"})


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("static", {}, "no 'tokens'"),
        ("static", {"tokens": [{}]}, "token"),
        ("static", {"tokens": [{"token": "short", "subject": "x"}]}, "too short"),
        ("static", {"tokens": [{"token": "x" * 20}]}, "subject"),
        ("static", {"tokens": [{"token": "x" * 20, "subject": "x", "capabilities": "admin"}]}, "list of texts"),
        ("static", {"tokens": [{"token": "x" * 20, "subject": "x", "capabilities": ["admn"]}]}, "did you mean 'admin'"),
        ("static", {"tokens": [{"token": "x" * 20, "subject": "x", "kind": "worker"}]}, "human or system"),
        ("static", {"tokens": [{"token": "x" * 20, "subject": "x", "groups": "finance"}]}, "list of texts"),
        ("keys", {}, "flowli api new-key"),
        ("keys", {"keys": [{"id": "x"}]}, "salt"),
        ("oidc", {}, "issuer and audience"),
        ("oidc", {"isuer": "x"}, "isuer"),
        ("oidc", {"issuer": "https://x.example", "audience": "y", "grants": [{}]}, "grants"),
        ("ldap", {}, "installed are"),
    ],
)
def test_settings_that_cannot_be_meant_are_one_sentence(name, settings, told):
    with pytest.raises(UsageError, match=told):
        open_authenticator(name, settings)


def test_capabilities_are_checked():
    assert capabilities(["tasks:consume:*", "reviews:decide:finance"])
    for wrong in ("tasks:consume", "tasks:consume:", "tasks:consume:a/b", "executions:*", "*", ""):
        with pytest.raises(UsageError, match="is not a capability"):
            capabilities([wrong])
    assert Identity("x", capabilities=frozenset({"tasks:consume:*"})).may("tasks:consume:agents")
    assert not Identity("x", capabilities=frozenset({"tasks:consume:a"})).may("tasks:consume:ab")
    with pytest.raises(ValueError, match="subject"):
        Identity("")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cors_origins": ("*",)}, "name origins"),
        ({"secret": "short"}, "32 characters"),
        ({"root_path": "flowli"}, "without a slash at the end"),
        ({"max_body_bytes": 0}, "positive"),
        ({"rate_per_s": -1.0}, "positive"),
    ],
)
def test_a_configuration_that_would_not_be_safe_is_refused(options, told):
    with pytest.raises(UsageError, match=told):
        ApiConfig(**options)


def test_without_authentication_only_this_machine_is_served(tmp_path):
    assert authenticating(SYSTEM, None, None, "127.0.0.1").token
    assert authenticating(SYSTEM, None, None, "::1").token
    for host in ("0.0.0.0", "::", "192.168.1.1", "flowli.example.org"):
        with pytest.raises(UsageError, match="no --auth"):
            authenticating(SYSTEM, None, None, host)
    broken = tmp_path / "settings.toml"
    broken.write_text("tokens = [")
    with pytest.raises(UsageError, match="cannot be read"):
        authenticating(SYSTEM, "static", str(broken), "0.0.0.0")
    with pytest.raises(UsageError, match="without --auth"):
        authenticating(SYSTEM, None, str(broken), "127.0.0.1")


def test_the_settings_of_oidc_say_how_the_interface_logs_in(tmp_path):
    path = tmp_path / "oidc.toml"
    text = 'issuer = "https://login.example.org"\naudience = "flowli"\n[login]\nclient_id = "ui"\n'
    path.write_text(text)
    found = authenticating(SYSTEM, "oidc", str(path), "0.0.0.0")
    assert (found.login.issuer, found.login.client_id, found.token) == ("https://login.example.org", "ui", None)
    path.write_text(text + 'secret = "x"\n')
    with pytest.raises(UsageError, match="client_id"):
        authenticating(SYSTEM, "oidc", str(path), "0.0.0.0")


class Directory:
    """What another distribution might bring: names from a directory."""

    def __init__(self, settings):
        self.people = settings["people"]

    async def authenticate(self, token):
        return Identity(self.people[token], "ldap") if token in self.people else None


votes = ApiRouter(tags=["votes"])


@votes.get("/open")
@requires("reviews:read")
async def open_votes() -> list[str]:
    """The open votes."""
    return ["v-1"]


class Plugin:
    """A plugin module."""

    router: object = votes

    @staticmethod
    def flowli_authenticators():
        return [AuthenticatorType("ldap", "Names from a directory", lambda: Directory)]

    @classmethod
    def flowli_api_routers(cls):
        return [ApiRouterType("votes", "Votes", lambda: cls.router)]


@pytest.fixture
def installed(monkeypatch):
    """A process in which that plugin is installed."""

    def install(router=votes):
        plugin = type("Plugin", (Plugin,), {"router": router})
        source = Source("acme", "acme-votes", "1.0", "acme.plugin", lambda: plugin)
        monkeypatch.setattr(plugins, "manager", lambda: Manager([source]))
        for module in (extensions, __import__("flowli_api.auth.named", fromlist=["manager"])):
            monkeypatch.setattr(module, "manager", lambda: Manager([source]))

    return install


async def test_an_authenticator_of_a_plugin_is_opened_by_its_name(installed):
    installed()
    known = open_authenticator("ldap", {"people": {"t": "ada"}})
    assert (await known.authenticate("t")).actor.id == "ldap|ada"


async def test_the_routes_of_a_plugin_are_served_under_its_name_and_guarded(installed, open_shop):
    installed()
    shop = await open_shop()
    async with shop.client() as client, shop.client("nobody") as other:
        assert (await client.get("/v1/votes/open")).json() == ["v-1"]
        assert (await other.get("/v1/votes/open")).json()["code"] == "forbidden"
        assert (await client.get("/v1/config")).json()["plugins"] == ["votes"]


async def test_a_route_of_a_plugin_without_a_guard_is_refused(installed, open_shop):
    from fastapi import APIRouter

    bare = APIRouter()

    @bare.get("/open")
    async def unguarded() -> str:
        return ""

    outer = ApiRouter()
    outer.include_router(bare)
    for router in (bare, outer, object()):
        installed(router)
        with pytest.raises(PluginError, match="votes"):
            await open_shop()
