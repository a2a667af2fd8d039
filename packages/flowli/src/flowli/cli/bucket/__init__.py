"""``flowli bucket``: what is done to a bucket as a whole."""
