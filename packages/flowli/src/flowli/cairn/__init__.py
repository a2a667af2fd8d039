"""The cairn: a database made of one bucket. It knows nothing of workflows.

Objects, claims, leases and logs over an ``ObjectStore``. ``flowli.cairn.database.Cairn`` holds them together.
"""
