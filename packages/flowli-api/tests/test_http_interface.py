"""The operator interface: static files of the wheel, served at the root."""

import pytest

from flowli_api import interface
from flowli_api.config import ApiConfig


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A built interface."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>flowli</title>")
    (tmp_path / "assets" / "app-1a2b.js").write_text("export {}")
    monkeypatch.setattr(interface, "_FOLDER", tmp_path)
    return tmp_path


async def test_every_view_is_the_page_and_the_service_keeps_its_addresses(built, open_shop):
    shop = await open_shop(ApiConfig(rate_per_s=None))
    async with shop.client(None) as client:
        for path in ("/", "/executions", "/executions/some-id", "/queues"):
            page = await client.get(path)
            assert (page.status_code, "<title>flowli" in page.text) == (200, True), path
            assert page.headers["cache-control"] == "no-cache"
            assert "script-src 'self'" in page.headers["content-security-policy"]
        asset = await client.get("/assets/app-1a2b.js")
        assert (asset.status_code, "immutable" in asset.headers["cache-control"]) == (200, True)
        for path in ("/v1/nothing", "/assets/none.js", "/../conftest.py", "/%2e%2e/conftest.py"):
            assert (await client.get(path)).status_code == 404, path
        assert (await client.get("/v1/me")).status_code == 401
        for path, allow in (("bulk", "POST"), ("executions", "GET, POST"), ("executions/some-id/evidence/a/b", "GET")):
            answer = await client.request("GET" if "GET" not in allow else "DELETE", f"/v1/{path}")
            assert (answer.status_code, answer.headers["allow"]) == (405, allow)
        assert (await client.get("/health")).status_code == 200


async def test_a_service_without_a_built_interface_or_that_wants_none_serves_none(built, open_shop):
    without = await open_shop(ApiConfig(rate_per_s=None, interface=False))
    async with without.client(None) as client:
        assert (await client.get("/")).status_code == 404
    (built / "index.html").unlink()
    assert interface.built() is None
    missing = await open_shop(ApiConfig(rate_per_s=None))
    async with missing.client(None) as client:
        answer = await client.get("/")
        assert answer.status_code == 404
        assert "was not built" in answer.text
        assert (await client.get("/v1/nothing")).headers["content-type"] == "application/problem+json"
