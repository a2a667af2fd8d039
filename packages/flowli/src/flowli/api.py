"""``flowli.api``: the public names of the distribution flowli-api."""

from flowli._facade import require

require("flowli_api", "flowli.api")

from flowli_api.public import *
from flowli_api.public import __all__ as __all__
