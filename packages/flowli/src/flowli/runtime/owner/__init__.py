"""One process's ownership of one execution: ``owner`` is its loop, ``steps`` runs attempts, ``waits`` watches channels,
children and instants, ``commits`` makes entries durable.
"""
