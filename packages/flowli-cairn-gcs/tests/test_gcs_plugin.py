from flowli.plugins import discover, find_store
from flowli.world import SYSTEM


def test_the_scheme_is_registered_by_this_distribution():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-cairn-gcs")
    assert ("flowli_stores", "gs") in plugin.provides
    assert plugin.problem is None


def test_the_factory_opens_a_bucket_without_a_request():
    store = find_store("gs").load().from_config({"type": "gs", "bucket": "my-bucket"}, world=SYSTEM)
    assert store.url == "gs://my-bucket"
    assert store.capabilities.per_key_write_interval_s == 1.0
