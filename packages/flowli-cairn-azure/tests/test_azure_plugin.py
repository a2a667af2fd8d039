import pytest

from flowli.cairn.errors import StoreConfigError
from flowli.plugins import discover, find_store


def test_the_scheme_is_registered_by_this_distribution():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-cairn-azure")
    assert ("flowli_stores", "az") in plugin.provides
    assert plugin.problem is None


def test_opening_a_bucket_says_plainly_that_this_version_cannot():
    with pytest.raises(
        StoreConfigError, match=r"flowli-cairn-azure 0\.2\.\d+ does not open az:// buckets yet.*file:PATH"
    ):
        find_store("az").load()
