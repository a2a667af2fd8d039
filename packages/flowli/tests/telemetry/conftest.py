"""The wheel is tested without an OpenTelemetry SDK as well."""

from importlib.util import find_spec


def there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


measured = there("opentelemetry.exporter.prometheus") and there("prometheus_client")
collect_ignore = [] if measured else ["test_metrics.py", "test_health.py"]
if not there("opentelemetry.exporter.otlp.proto.http"):
    collect_ignore.append("test_traces.py")
