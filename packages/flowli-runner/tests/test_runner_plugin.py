from flowli.plugins import discover


def test_it_is_listed_and_claims_to_provide_nothing():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-runner")
    assert (plugin.name, plugin.provides, plugin.problem) == ("runner", (), None)
