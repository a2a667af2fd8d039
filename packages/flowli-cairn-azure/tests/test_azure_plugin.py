from flowli.plugins import discover, find_store
from flowli.world import SYSTEM


def test_the_scheme_is_registered_by_this_distribution():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-cairn-azure")
    assert ("flowli_stores", "az") in plugin.provides
    assert plugin.problem is None


def test_the_factory_opens_a_container_without_a_request():
    store = find_store("az").load().from_config({"type": "az", "container": "flows", "account": "acme"}, world=SYSTEM)
    assert store.url == "az://flows?account=acme"
