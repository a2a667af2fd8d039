"""``flowli projection``."""
