"""``flowli check``: every invariant of a bucket, verified without its processes."""
