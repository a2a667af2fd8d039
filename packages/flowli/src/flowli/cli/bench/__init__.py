"""``flowli bench``: what executions take and cost on a bucket."""
