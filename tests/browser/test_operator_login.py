"""Login with an identity provider: authorization code with PKCE."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.async_api import Route, expect

from .conftest import PATIENCE_MS, Office, Visits

pytestmark = pytest.mark.asyncio(loop_scope="session")
expect.set_options(timeout=PATIENCE_MS)

ISSUER = "https://login.example.org/tenant"
LOGIN = {"issuer": ISSUER, "client_id": "flowli-web", "scope": "openid profile", "audience": None}
CORS = {"access-control-allow-origin": "*"}


class Provider:
    """An identity provider within the browser; it gives the token of the service for its code."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.asked: dict[str, str] = {}
        self.state: str | None = None

    async def answer(self, route: Route) -> None:
        """Answer a request to the provider."""
        url = urlsplit(route.request.url)
        if url.path.endswith("/openid-configuration"):
            ends = {"authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token"}
            await route.fulfill(json=ends, headers=CORS)
        elif url.path.endswith("/authorize"):
            self.asked = {name: value for name, (value,) in parse_qs(url.query).items()}
            back = urlencode({"code": "the-code", "state": self.state or self.asked["state"]})
            await route.fulfill(status=302, headers={"location": f"{self.asked['redirect_uri']}?{back}"})
        else:
            given = {name: value for name, (value,) in parse_qs(route.request.post_data or "").items()}
            digest = base64.urlsafe_b64encode(hashlib.sha256(given["code_verifier"].encode()).digest()).decode()
            fits = given["code"] == "the-code" and digest.rstrip("=") == self.asked["code_challenge"]
            answer = {"access_token": self.token} if fits else {"error_description": "the verifier does not fit"}
            await route.fulfill(json=answer, headers=CORS)


async def begin(visit: Visits, provider: Provider):
    # the policy of this service knows no provider
    page = await visit("/queues", token=False, bypass_csp=True)
    config = {"version": "1", "oidc": LOGIN, "plugins": [], "max_page_size": 200, "max_wait_s": 30.0}
    await page.route("**/v1/config", lambda route: route.fulfill(json=config))
    await page.route(f"{ISSUER}/**", provider.answer)
    await page.reload()
    await page.get_by_role("button", name="Log in with login.example.org").click()
    return page


async def test_a_person_logs_in_with_the_identity_provider_and_is_back_at_the_view(visit: Visits, office: Office):
    provider = Provider(office.address.partition("token=")[2])
    page = await begin(visit, provider)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Queues")
    assert provider.asked["code_challenge_method"] == "S256"
    assert "the-code" not in page.url


async def test_an_answer_to_a_login_that_was_begun_elsewhere_is_refused(visit: Visits, office: Office):
    provider = Provider(office.address.partition("token=")[2])
    provider.state = "of somebody else"
    page = await begin(visit, provider)
    await expect(page.get_by_text("This login was begun elsewhere.")).to_be_visible()
    await expect(page.get_by_label("Token", exact=True)).to_be_visible()
