from flowli.plugins import discover, find_store


def test_the_scheme_is_registered_by_this_distribution():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-cairn-s3")
    assert ("flowli_stores", "s3") in plugin.provides
    assert plugin.problem is None


def test_the_factory_opens_a_bucket_without_a_request():
    from flowli.world import SYSTEM

    store = find_store("s3").load().from_config({"type": "s3", "bucket": "my-bucket"}, world=SYSTEM)
    assert store.url == "s3://my-bucket"
