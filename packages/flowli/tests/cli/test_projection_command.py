"""``flowli projection``, and the snapshot that retention puts into the bucket."""

import pytest

from flowli.adapters.projection import snapshots


def test_a_snapshot_is_put_into_the_bucket_and_the_file_is_built_anew(flowli, bucket):
    flowli("start", "echo", "--arg", "text=hi")
    flowli.work()
    told = flowli.json("projection", "snapshot")
    assert told["kept"]
    assert told["entries"] >= 3
    assert told["parts"] == 1
    assert "the one that is there reaches as far" in flowli("projection", "snapshot")
    assert flowli.json("projection", "rebuild") == {"entries": told["entries"]}
    assert f"{told['entries']} entries folded" in flowli("projection", "rebuild")


def test_a_bucket_without_executions_has_no_snapshot(flowli, bucket):
    flowli("start", "echo", "--arg", "text=hi")
    assert flowli.json("projection", "rebuild")["entries"] > 0
    bucket_of_nothing = f"file:{bucket.parent / 'empty'}?durability=os"
    (bucket.parent / "empty").mkdir()
    flowli("projection", "snapshot", "--storage", bucket_of_nothing, code=1)
    assert "this bucket keeps no snapshot" in flowli.errors


@pytest.mark.parametrize("worth", [1, 1_000])
def test_retention_puts_a_snapshot_when_it_is_worth_it(flowli, bucket, monkeypatch, worth):
    monkeypatch.setattr(snapshots, "WORTH_ENTRIES", worth)
    flowli("start", "echo", "--arg", "text=hi")
    flowli.work()
    flowli("retention", "--older-than", "1d", "--dry-run")
    assert "a snapshot of" not in flowli.errors
    flowli("retention", "--older-than", "1d")
    assert ("a snapshot of" in flowli.errors) == (worth == 1)
