"""The reference page says what the OpenAPI document says."""

import os
from pathlib import Path

import pytest

from flowli_api.auth.capabilities import CAPABILITIES
from flowli_api.problems import CODES

from .http_page import HEADING, generated

PAGE = Path(__file__).parents[3] / "docs/reference/http.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the page is in the repository, not in the source distribution")
async def test_the_routes_of_the_page_are_those_of_the_service(shop, http):
    document = (await http.get("/v1/openapi.json")).json()
    wanted = generated(document, shop.app.state.service.plugins)
    written, heading, found = PAGE.read_text().partition(HEADING)
    if os.environ.get("FLOWLI_WRITE_PAGES"):
        PAGE.write_text(f"{written}{HEADING}\n{wanted}")
        return
    assert heading
    assert found.strip() == wanted.strip(), "write the page anew with FLOWLI_WRITE_PAGES=1"


@pytest.mark.skipif(not PAGE.exists(), reason="the page is in the repository, not in the source distribution")
def test_every_problem_and_every_capability_is_on_the_page():
    page = PAGE.read_text()
    assert [code for code, (status, _) in CODES.items() if f"| `{code}` | {status} |" not in page] == []
    assert [one for one in CAPABILITIES if f"| `{one}` |" not in page] == []
