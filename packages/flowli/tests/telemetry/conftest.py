"""The wheel is tested without an OpenTelemetry SDK as well."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("opentelemetry") and find_spec("prometheus_client") else ["test_metrics.py"]
