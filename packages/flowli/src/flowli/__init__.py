"""flowli: durable workflows for Python."""
