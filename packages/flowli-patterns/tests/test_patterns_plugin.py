import flowli.patterns
import flowli_patterns.public
from flowli.plugins import discover


def test_it_is_listed_and_claims_to_provide_nothing():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-patterns")
    assert (plugin.name, plugin.provides, plugin.problem) == ("patterns", (), None)


def test_the_facade_shows_the_public_names_of_this_distribution():
    assert flowli.patterns.__all__ is flowli_patterns.public.__all__
    assert all(
        getattr(flowli.patterns, one) is getattr(flowli_patterns.public, one) for one in flowli_patterns.public.__all__
    )
