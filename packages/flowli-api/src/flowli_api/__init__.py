"""The HTTP service of flowli, seen as ``flowli.api``."""
