"""The wheel is tested without an OpenTelemetry SDK as well."""

from importlib.util import find_spec

there = find_spec("opentelemetry") and find_spec("prometheus_client")
collect_ignore = [] if there else ["test_metrics.py", "test_health.py"]
