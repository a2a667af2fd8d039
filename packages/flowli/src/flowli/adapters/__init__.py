"""Backends: implementations of the ten ports, one folder a backend, one file a port."""
