"""A backend of flowli in one SQLite file: the ten ports, one module a port."""
