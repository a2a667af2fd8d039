"""``flowli init``: a small application to start from. What it writes stands in ``files/``."""
