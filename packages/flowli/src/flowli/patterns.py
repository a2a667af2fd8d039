"""``flowli.patterns``: the public names of the distribution flowli-patterns."""

from flowli._facade import require

require("flowli_patterns", "flowli.patterns")

from flowli_patterns.public import *
from flowli_patterns.public import __all__ as __all__
