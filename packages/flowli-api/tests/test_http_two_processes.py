"""Two services on one bucket: what is begun at one goes on at the other."""

import asyncio
from contextlib import aclosing

from flowli import CairnBackend, Engine, Site

from .served import PATIENCE_S, bucket_in, events, serving


async def run_idle(storage):
    """Run in this process all that can run."""
    from patient_app import registry  # made by the test

    async with (
        CairnBackend.open(storage) as backend,
        Engine(backend.ports, Site.local("w"), registry=registry) as engine,
    ):
        await engine.worker().run_until_idle()


async def test_reads_pages_etags_and_streams_go_on_at_another_process(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    storage = bucket_in(tmp_path)
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(tmp_path, storage) as a,
        serving(tmp_path, storage) as b,
    ):
        assert (await b.http.get("/v1/executions")).json()["items"] == []
        eids, seq = [], 0
        for number in range(3):
            body = {"workflow": "patient", "key": f"K-{number}"}
            made = (await a.http.post("/v1/executions", json=body)).json()
            eids.append(made["eid"])
            seq = made["control_seq"]
        after = {"flowli-after": str(seq)}

        rows = (await b.http.get("/v1/executions", headers=after)).json()["items"]
        assert [row["eid"] for row in rows] == eids[::-1]

        first = (await a.http.get("/v1/executions", params={"limit": 2}, headers=after)).json()
        rest = (await b.http.get("/v1/executions", params={"limit": 2, "cursor": first["next_cursor"]})).json()
        assert [row["eid"] for row in [*first["items"], *rest["items"]]] == eids[::-1]
        assert rest["next_cursor"] is None

        for path in (f"/v1/executions/{eids[0]}", f"/v1/executions/{eids[0]}/frames", "/v1/workflows"):
            known = {"if-none-match": (await a.http.get(path, headers=after)).headers["etag"]}
            same = await b.http.get(path, headers={**known, **after})
            assert (same.status_code, same.content) == (304, b""), path

        key = {"idempotency-key": "once"}
        sent = [
            (await one.http.post(f"/v1/executions/{eids[1]}/signals", json={"channel": "c"}, headers=key)).json()
            for one in (a, b)
        ]
        assert [one["message_seq"] for one in sent] == [1, 1]

        async with aclosing(events(a.http, "/v1/events")) as told:
            name, _, place = await anext(told)
            assert name == "place"
        await run_idle(storage)
        begun = []
        async with aclosing(events(a.http, f"/v1/executions/{eids[0]}/events")) as told:
            async for name, _, number in told:
                if name != "entry":
                    break
                begun.append(number)

        await a.http.post(f"/v1/executions/{eids[0]}/signals", json={"channel": "go", "payload": "now"})
        await a.kill()
        await run_idle(storage)

        async with aclosing(events(b.http, "/v1/events", place)) as told:
            async for name, data, _ in told:
                if name == "execution" and data["status"] == "completed":
                    assert data["eid"] == eids[0]
                    break
        more = [one async for one in events(b.http, f"/v1/executions/{eids[0]}/events", begun[-1])]
        assert [name for name, _, _ in more][-2:] == ["execution", "end"]
        assert more[-2][1]["value"] == "now"
        entries = [*begun, *(number for name, _, number in more if name == "entry")]
        assert entries == [str(number) for number in range(1, len(entries) + 1)]
        bill = (await b.http.get("/v1/stats")).json()["bill"]
        assert {one["verb"] for one in bill["requests"]} >= {"get", "put", "list"}
        assert bill["dollars"] is None  # requests to a folder cost nothing
        assert await b.end() == 0
