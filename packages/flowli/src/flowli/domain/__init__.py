"""The objects, the errors and the ports: what flowli is about, without any I/O.

Standard library only, and ``flowli.timestamp``. Every object is frozen: a change is a new entry, never a mutation.
"""
