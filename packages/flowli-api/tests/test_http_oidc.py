"""Access tokens: what is refused, whose identity counts, how keys rotate. K38, K39, K40."""

import base64
import hmac
import json

import pytest
from joserfc.jwk import ECKey

from flowli.domain.errors import BackendUnavailable, UsageError
from flowli.testing.clock import ManualClock, ManualWorld
from flowli_api.auth.caching import CachingAuthenticator
from flowli_api.auth.grants import Grant
from flowli_api.auth.oidc import OIDCAuthenticator

from .issuer import AUDIENCE, ISSUER, Issuer, new_key

GRANTS = [
    Grant("groups", "ops", frozenset({"executions:read"})),
    Grant("email", "ada@example.org", frozenset({"executions:operate"})),
]


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def issuer(clock):
    return Issuer(ManualWorld(clock))


def authenticator(issuer, **options):
    options = {"grants": GRANTS, "client": issuer.client(), "world": issuer.world, **options}
    return OIDCAuthenticator(issuer.issuer, AUDIENCE, **options)


async def test_a_token_of_the_issuer_for_this_service_is_known(issuer):
    identity = await authenticator(issuer).authenticate(issuer.token(name="Ada"))
    assert (identity.issuer, identity.subject, identity.name) == (ISSUER, "ada", "Ada")
    assert identity.capabilities == {"executions:read"}
    assert identity.actor.id == f"{ISSUER}|ada"


@pytest.mark.parametrize(
    ("claims", "options", "groups"),
    [
        ({"groups": ...}, {}, set()),
        ({"groups": ["finance", 7, "", "board"]}, {}, {"finance", "board"}),
        ({"groups": "finance"}, {}, {"finance"}),
        ({"groups": {"finance": True}}, {}, set()),
        ({"realm": {"teams": ["a b"]}, "groups": ["x"]}, {"groups_claim": "realm.teams"}, {"a b"}),
        ({"scope": "one two"}, {"groups_claim": "scope"}, {"one", "two"}),
    ],
)
async def test_the_groups_of_a_caller_are_those_of_one_claim(issuer, claims, options, groups):
    identity = await authenticator(issuer, **options).authenticate(issuer.token(**claims))
    assert identity.groups == groups


def encoded(part) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def forgeries(issuer):
    """K38: every way to have the token name its own algorithm or key."""
    public = issuer.keys[0]
    jwk = json.dumps(public.as_dict(private=False))
    for name, secret in {
        "pem": public.as_pem(private=False),
        "der": public.as_der(private=False),
        "jwk": jwk.encode(),
        "ssh": b"ssh-rsa AAAA",
    }.items():
        body = f"{encoded({'alg': 'HS256', 'kid': 'rsa-1'})}.{encoded(issuer.claims())}"
        signed = base64.urlsafe_b64encode(hmac.digest(secret, body.encode(), "sha256")).decode().rstrip("=")
        yield f"HS256 signed with the public key as {name}", f"{body}.{signed}"
    claims = encoded(issuer.claims())
    yield "alg none", f"{encoded({'alg': 'none', 'kid': 'rsa-1'})}.{claims}."
    yield "alg None", f"{encoded({'alg': 'None', 'kid': 'rsa-1'})}.{claims}."
    yield "an empty signature", issuer.token().rpartition(".")[0] + "."
    yield "a changed body", ".".join((issuer.token().split(".")[0], claims + "A", issuer.token().split(".")[2]))
    yield "the key of somebody else", issuer.token(new_key("stranger"))
    yield "an elliptic key under the id of an RSA key", issuer.token(ECKey.generate_key("P-256"), {"alg": "ES256"})
    yield "RS512 where RS256 is fixed", issuer.token(header={"alg": "RS512"})
    stranger = new_key("stranger")
    brought = {"jwk": stranger.as_dict(private=False)}
    yield "a key that the token brings along", _raw(issuer, {"alg": "RS256", **brought}, stranger)
    yield (
        "an unknown critical header",
        _raw(issuer, {"alg": "RS256", "kid": "rsa-1", "crit": ["x"], "x": 1}, issuer.keys[0]),
    )
    yield "no token at all", "nonsense"
    yield "dots", "..."
    yield "a list for a header", f"{encoded([1])}.{claims}.x"
    yield "a number for an algorithm", f"{encoded({'alg': 1, 'kid': 'rsa-1'})}.{claims}.x"
    yield "a very long one", "x" * 100_000


def _raw(issuer, header, key):
    """A signed token with a header that a well-meaning library refuses to write."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    body = f"{encoded(header)}.{encoded(issuer.claims())}"
    signature = key.private_key.sign(body.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{body}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


async def test_no_forgery_is_accepted_k38(issuer):
    checked = authenticator(issuer)
    accepted = [name for name, token in forgeries(issuer) if await checked.authenticate(token) is not None]
    assert accepted == []
    assert await checked.authenticate(issuer.token()) is not None


async def test_algorithms_are_fixed_in_the_configuration_k38(issuer):
    for wrong in ("HS256", "none", "dir"):
        with pytest.raises(UsageError, match="algorithms"):
            authenticator(issuer, algorithms=["RS256", wrong])
    elliptic = ECKey.generate_key("P-256", {"kid": "ec-1"})
    issuer.keys.append(elliptic)
    mixed = authenticator(issuer, algorithms=["RS256", "ES256"])
    assert await mixed.authenticate(issuer.token(elliptic, {"alg": "ES256", "kid": "ec-1"})) is not None
    assert await mixed.authenticate(issuer.token(elliptic, {"alg": "ES256", "kid": "rsa-1"})) is None


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({"email_verified": True}, True),
        ({"email_verified": False}, False),
        ({"email_verified": "true"}, False),
        ({"email_verified": 1}, False),
        ({}, False),
    ],
)
async def test_an_address_counts_only_when_the_issuer_has_verified_it_k39(issuer, changed, holds):
    token = issuer.token(email="ada@example.org", **changed)
    identity = await authenticator(issuer).authenticate(token)
    assert identity.may("executions:operate") is holds
    trusting = authenticator(issuer, trust_unverified_email=True)
    assert (await trusting.authenticate(token)).may("executions:operate")


async def test_one_address_at_two_issuers_is_two_people_k39(issuer, clock):
    other = Issuer(ManualWorld(clock), "https://elsewhere.example.org")
    told = {"email": "ada@example.org", "email_verified": True}
    here = await authenticator(issuer).authenticate(issuer.token(**told))
    there = await authenticator(other).authenticate(other.token(**told))
    assert here.actor != there.actor
    assert await authenticator(issuer).authenticate(other.token(**told)) is None


NOW = 1_767_225_600  # the start of the manual clock


@pytest.mark.parametrize(
    ("changed", "accepted"),
    [
        ({"aud": AUDIENCE}, True),
        ({"aud": ["https://other.example.org", AUDIENCE]}, True),
        ({"aud": ["https://other.example.org"]}, False),
        ({"aud": "https://other.example.org"}, False),
        ({"aud": ...}, False),
        ({"aud": []}, False),
        ({"aud": {AUDIENCE: 1}}, False),
        ({"exp": ...}, False),
        ({"exp": NOW - 31}, False),
        ({"exp": NOW - 29}, True),
        ({"exp": "soon"}, False),
        ({"exp": True}, False),
        ({"exp": float("inf")}, False),
        ({"nbf": NOW + 31}, False),
        ({"nbf": NOW + 29}, True),
        ({"iss": f"{ISSUER}/"}, False),
        ({"iss": ...}, False),
        ({"sub": ...}, False),
        ({"sub": ""}, False),
        ({"sub": 7}, False),
        ({"nonce": "n"}, False),
        ({"at_hash": "h"}, False),
    ],
)
async def test_only_tokens_for_this_service_and_time_count_k40(issuer, changed, accepted):
    assert (await authenticator(issuer).authenticate(issuer.token(**changed)) is not None) is accepted


async def test_an_id_token_by_its_type_is_refused_k40(issuer):
    assert await authenticator(issuer).authenticate(issuer.token(header={"typ": "at+jwt"})) is not None
    assert await authenticator(issuer).authenticate(issuer.token(header={"typ": "id+jwt"})) is None


async def test_keys_rotate_and_strange_ones_do_not_cause_a_fetch_each(issuer, clock):
    checked = authenticator(issuer)
    await checked.authenticate(issuer.token())
    assert issuer.fetches == 2  # discovery and keys
    fresh = new_key("rsa-2")
    issuer.keys = [fresh]
    token = issuer.token(fresh, {"kid": "rsa-2"})
    for _ in range(100):
        assert await checked.authenticate(token) is None
    assert issuer.fetches == 2
    await clock.advance(31)
    assert await checked.authenticate(token) is not None
    assert issuer.fetches == 3


async def test_keys_count_on_while_the_issuer_is_away_and_none_at_all_is_told(issuer, clock):
    checked = authenticator(issuer)
    await checked.authenticate(issuer.token())
    issuer.broken = True
    await clock.advance(4000)
    assert await checked.authenticate(issuer.token()) is not None
    with pytest.raises(BackendUnavailable):
        await authenticator(issuer).authenticate(issuer.token())


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"keys": 1}', b"[" * 1000, b" " * 300_000])
async def test_a_broken_answer_with_keys_is_no_answer(issuer, answer):
    issuer.answer = answer
    with pytest.raises(BackendUnavailable, match=r"login\.example\.org"):
        await authenticator(issuer).authenticate(issuer.token())


async def test_keys_that_cannot_be_read_are_left_out(issuer):
    issuer.answer = b'{"keys": [{"kty": "?"}, 7, {"kty": "oct", "k": "c2VjcmV0"}]}'
    assert await authenticator(issuer).authenticate(issuer.token()) is None


@pytest.mark.parametrize("url", ["http://login.example.org", "login.example.org", "ftp://x", "", "https://"])
def test_an_issuer_without_tls_is_refused(url):
    with pytest.raises(UsageError):
        OIDCAuthenticator(url, AUDIENCE, grants=GRANTS)


async def test_answers_are_remembered_for_a_while_and_never_beyond_the_expiry(issuer, clock):
    class Counting:
        asked = 0

        async def authenticate(self, token):
            Counting.asked += 1
            return await inner.authenticate(token)

    inner = authenticator(issuer)
    cached = CachingAuthenticator(Counting(), ttl_s=1000, world=issuer.world)
    token = issuer.token()
    for _ in range(3):
        assert await cached.authenticate(token) is not None
    assert Counting.asked == 1
    await clock.advance(700)
    assert await cached.authenticate(token) is None
    assert Counting.asked == 2
