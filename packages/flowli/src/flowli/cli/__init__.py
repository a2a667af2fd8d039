"""The ``flowli`` command: builds the backend and the engine, then runs one job.

``commands`` is the table of commands, ``main`` the entry point. Nothing here is imported before its command is called.
"""
