"""Metrics by OpenTelemetry (extra ``otel``): ``metrics`` for engines, ``storage`` for buckets, ``names`` for both.

Without an OpenTelemetry SDK in the process all of it costs next to nothing and goes nowhere.
"""
