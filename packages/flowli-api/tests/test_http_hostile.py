"""What hostile callers send: an answer with a problem, never a fault, and no storage call for a bad id. K41."""

import json
from urllib.parse import quote

import pytest
import structlog

from flowli_api.config import ApiConfig

from .conftest import identity, token_of

WALKS = [
    "../x",
    "..",
    ".",
    "%2e%2e%2f",
    "%252e%252e%252f",
    "..\\x",
    ".locks",
    "a/../b",
    "/",
    "//",
    "\x00",
    "a\x00b",
    "\u2025",
    "\uff0e\uff0e\uff0fx",
    "a b",
    "x" * 5000,
    "{}",
    "*",
    "null",
    "NaN",
    "-1",
    "00000000-0000-7000-8000-00000000000g",
    "{00000000-0000-7000-8000-000000000000}",
    "urn:uuid:00000000-0000-7000-8000-000000000000",
]
ZERO = "00000000-0000-7000-8000-000000000000"


class Spy:
    """A port that counts what it is asked."""

    def __init__(self, inner, calls):
        self._inner = inner
        self._calls = calls

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def called(*args, **kwargs):
            self._calls.append(name)
            return found(*args, **kwargs)

        return called


@pytest.fixture
async def spied(open_shop):
    """A service whose storage counts its calls."""
    from dataclasses import fields, replace

    from flowli import MemoryBackend
    from flowli.domain.ports import Ports

    calls = []
    ports = MemoryBackend().ports
    spies = {
        field.name: Spy(getattr(ports, field.name), calls)
        for field in fields(Ports)
        if field.name not in ("fork", "poll_hint_s")
    }

    class Backend:
        pass

    backend = Backend()
    backend.ports = replace(ports, **spies)
    shop = await open_shop(backend=backend, people={"agent": identity("agent", "admin", "tasks:consume:*")})
    return shop, calls


@pytest.mark.parametrize("walk", WALKS)
async def test_names_that_walk_out_of_their_place_reach_no_storage_k41(spied, walk):
    """K41 through the service: paths, queries, bodies, headers."""
    shop, calls = spied
    part = quote(walk, safe="").replace(".", "%2E")
    posts = [
        (f"executions/{part}/cancel", {}),
        (f"executions/{part}/signals", {"channel": "c"}),
        (f"executions/{ZERO}/signals", {"channel": walk}),
        (f"executions/{ZERO}/updates", {"name": walk}),
        ("broadcasts", {"channel": walk}),
        ("executions", {"workflow": walk}),
        ("executions", {"workflow": "ask", "args": ["?"], "queue": walk}),
        ("executions", {"workflow": "ask", "args": ["?"], "key": f"/{walk}"}),
        (f"queues/{part}/pause", {"reason": "x"}),
        (f"queues/{part}/dequeue", {}),
        ("bulk", {"action": "cancel", "eids": [walk]}),
        ("bulk", {"action": "cancel", "filter": {"queue": walk}}),
    ]
    gets = [
        f"executions/{part}",
        f"executions/{part}/journal",
        f"executions/{part}/explain",
        f"executions/{ZERO}/published/{part}",
        f"queues/{part}",
        f"queues/{part}/tasks",
        f"executions?parent={part}",
        f"executions?queue={part}",
        f"executions?workflow={part}",
        f"dead-letters?eid={part}",
    ]
    if walk in ("null", "NaN", "-1", WALKS[-3]):  # names of queues and channels they may well be
        posts, gets = posts[:2] + posts[10:11], [*gets[:3], gets[6], gets[9]]
    async with shop.client() as client:
        for path, body in posts:
            answer = await client.post(f"/v1/{path}", json=body)
            assert 400 <= answer.status_code < 500, (path, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
        for path in gets:
            answer = await client.get(f"/v1/{path}")
            assert 400 <= answer.status_code < 500, (path, answer.text)
    assert calls == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid"),
        (b"{", "bad_request"),
        (b"[]", "invalid"),
        (b"null", "invalid"),
        (b'"x"', "invalid"),
        (b"\xff\xfe", "bad_request"),
        (b'{"workflow": "\\ud800"}', "bad_request"),
        (b'{"workflow": "ask", "args": [NaN]}', "bad_request"),
        (b'{"workflow": "ask", "args": [1e999]}', "bad_request"),
        (b'{"workflow": "ask", "args": [' + b"[" * 500 + b"]" * 500 + b"]}", "bad_request"),
        (b'{"workflow": "ask", "args": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "bad_request"),
        (b'{"workflow": "ask", "workflow": "fail", "args": []}', "bad_arguments"),
        (b'{"workflow": "ask", "args": ["?"], "priority": true}', "invalid"),
        (b'{"workflow": "ask", "args": ["?"], "priority": 100}', "invalid"),
        (b'{"workflow": "ask", "args": ["?"], "timeout_s": -1}', "invalid"),
        (b'{"workflow": "ask", "args": ["?"], "__class__": {}}', "invalid"),
        (b'{"workflow": "ask", "args": [{"$type": "os.system"}]}', "invalid_value"),
        (b'{"workflow": "ask", "args": ["?", "?", "?", "?"]}', "bad_arguments"),
        (b'{"workflow": "ask", "kwargs": {"ctx": 1}}', "bad_arguments"),
        (b'{"workflow": "ask", "args": [7]}', "invalid_value"),
    ],
)
async def test_a_broken_body_is_refused_and_nothing_is_stored(spied, body, code):
    shop, calls = spied
    async with shop.client() as client:
        answer = await client.post("/v1/executions", content=body, headers={"content-type": "application/json"})
    assert (400 <= answer.status_code < 500, answer.json()["code"]) == (True, code), answer.text
    assert calls == []


async def test_other_media_types_are_refused(http):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "a", ""):
        answer = await http.post("/v1/executions", content=b"workflow=ask", headers={"content-type": kind})
        assert answer.json()["code"] == "unsupported_media_type", kind


async def test_a_body_over_the_limit_is_refused_whether_it_says_so_or_not(open_shop):
    shop = await open_shop(ApiConfig(rate_per_s=None, max_body_bytes=1000))

    async def pieces():
        for _ in range(20):
            yield b" " * 100

    async with shop.client() as client:
        large = {"workflow": "ask", "args": ["x" * 1000]}
        assert (await client.post("/v1/executions", json=large)).json()["code"] == "payload_too_large"
        headers = {"content-type": "application/json"}
        streamed = await client.post("/v1/executions", content=pieces(), headers=headers)
        assert streamed.json()["code"] == "payload_too_large"
        for length in ("1e9", "-1", "99999999999999999999999"):
            lied = await client.post("/v1/executions", content=b"{}", headers={**headers, "content-length": length})
            assert lied.status_code == 413


async def test_a_value_over_the_limit_of_the_engine_names_the_setting(http):
    answer = await http.post("/v1/executions", json={"workflow": "ask", "args": ["x" * 300_000]})
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


async def test_too_many_requests_are_told_when_to_come_again(open_shop):
    shop = await open_shop(ApiConfig(rate_per_s=0.001, rate_burst=3))
    async with shop.client() as client, shop.client("nobody") as other, shop.client(None) as stranger:
        answers = [(await client.get("/v1/me")).status_code for _ in range(5)]
        assert answers == [200, 200, 200, 429, 429]
        assert int((await client.get("/v1/me")).headers["retry-after"]) > 1
        assert (await other.get("/v1/me")).status_code == 200
        guesses = [
            (await stranger.get("/v1/me", headers={"authorization": f"Bearer {n}"})).status_code for n in range(5)
        ]
        assert guesses == [401, 401, 401, 429, 429]


async def test_no_token_and_no_word_of_the_storage_is_in_any_answer_or_line_of_the_log(open_shop, capsys):
    """Also when the storage fails with a message that names what nobody should read."""
    from flowli.domain.errors import BackendRefused, BackendUnavailable

    structlog.reset_defaults()
    shop = await open_shop()
    token = token_of("root")

    def failing(error):
        async def fail(*args, **kwargs):
            raise error

        return fail

    texts = []
    async with shop.client() as client:
        texts.append((await client.get("/v1/me", headers={"authorization": f"Bearer {token}?"})).text)
        texts.append((await client.post("/v1/executions", json={"workflow": "ask", "args": ["?"]})).text)
        for error in (BackendUnavailable("SECRET-HOST"), BackendRefused("SECRET-KEY"), RuntimeError("SECRET-FAULT")):
            shop.engine.ports.executions.get = failing(error)
            shop.engine.ports.journal.read = failing(error)
            answer = await client.get(f"/v1/executions/{ZERO}")
            assert answer.status_code in (500, 503)
            assert answer.json()["request_id"] == answer.headers["x-request-id"]
            assert "content-security-policy" in answer.headers
            texts.append(answer.text)
    printed = "".join(capsys.readouterr())
    assert "SECRET" not in "".join(texts)
    assert token not in "".join(texts) + printed
    assert "SECRET-HOST" in printed  # who operates it must know


async def test_every_answer_carries_the_headers_that_keep_browsers_safe(http):
    for path in ("/v1/me", "/v1/nothing", "/health", "/nothing"):
        headers = (await http.get(path)).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe-inline' " not in headers["content-security-policy"].partition("style-src")[0]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "strict-transport-security" not in headers


async def test_hsts_hosts_and_origins_are_as_configured(open_shop):
    config = ApiConfig(hsts_s=600, cors_origins=("https://ui.example.org",), allowed_hosts=("flowli.test",))
    shop = await open_shop(config)
    async with shop.client() as client:
        answer = await client.get("/v1/me", headers={"origin": "https://ui.example.org"})
        assert answer.headers["strict-transport-security"].startswith("max-age=600")
        assert answer.headers["access-control-allow-origin"] == "https://ui.example.org"
        assert "access-control-allow-credentials" not in answer.headers
        foreign = await client.get("/v1/me", headers={"origin": "https://evil.example.org"})
        assert "access-control-allow-origin" not in foreign.headers
        assert (await client.get("/v1/me", headers={"host": "evil.example.org"})).status_code == 400
        ask = {"origin": "https://ui.example.org", "access-control-request-method": "POST"}
        assert (await client.options("/v1/executions", headers=ask)).status_code == 200


async def test_misspelt_filters_are_refused(http):
    for query in ("statu=failed", "limit=1&x=", "workflow=ask&Workflow=ask"):
        answer = await http.get(f"/v1/executions?{query}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert (await http.get("/v1/queues?limit=1")).status_code == 422


@pytest.mark.parametrize(
    "cursor", ["x", "%00", "W10", "eyJ9", "WyJhIiwgMV0", "x" * 2000, "W1siIl0sIHt9XQ", "MTIz", "bnVsbA"]
)
async def test_a_forged_cursor_is_refused(http, cursor):
    answer = await http.get(f"/v1/executions?cursor={cursor}")
    assert answer.status_code in (404, 422)


async def test_values_come_back_as_they_were_sent(shop, http):
    odd = "<script>alert(1)</script>\u2028\u0000\U0001f600 ' or 1=1 --"
    eid = (await http.post("/v1/executions", json={"workflow": "ask", "args": [odd], "key": "k"})).json()["eid"]
    await shop.work()
    answer = await http.get(f"/v1/executions/{eid}")
    assert json.loads(answer.content)["args"]["args"] == [odd]
    assert answer.headers["content-type"] == "application/json"
    for text in ("%", "_", "' or 1=1 --", "\\"):
        assert (await http.get("/v1/executions", params={"text": text})).status_code == 200


async def test_evidence_is_never_shown_as_a_page(shop, http):
    from uuid import UUID

    eid = await shop.started()
    await shop.engine.ports.evidence.put(UUID(eid), "root~len=1.1.1/page.html", b"<script>alert(1)</script>")
    answer = await http.get(f"/v1/executions/{eid}/evidence/root~len=1.1.1/page.html")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"


async def test_values_kept_among_the_evidence_are_values(open_shop):
    from uuid import UUID

    shop = await open_shop(people={"looker": identity("looker", "evidence:read")})
    eid = await shop.started()
    names = ["~values/" + "0" * 64, "root~len=1.1.1/outcome", "root~len=1.1.1/outcome-2"]
    for name in [*names, "root~len=1.1.1/note"]:
        await shop.engine.ports.evidence.put(UUID(eid), name, b"secret")
    async with shop.client("looker") as client:
        assert (await client.get(f"/v1/executions/{eid}/evidence")).json()["names"] == ["root~len=1.1.1/note"]
        for name in names:
            assert (await client.get(f"/v1/executions/{eid}/evidence/{name}")).json()["code"] == "forbidden"
        assert (await client.get(f"/v1/executions/{eid}/evidence/root~len=1.1.1/note")).status_code == 200
