"""What the stores behind an SDK that blocks have in common: settings, threads, and the operations themselves.

A store of a cloud gives a ``Dialect`` (its client and its errors) and ``Requests`` (its calls); the rest is here.
"""
