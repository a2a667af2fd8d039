"""The wheel is tested without httpx as well."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("httpx") else ["test_webhooks.py"]
