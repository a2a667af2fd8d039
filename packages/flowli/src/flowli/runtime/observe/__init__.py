"""Watching an engine: observers in process, and subscriptions that survive the process.

``events`` are what observers are told; ``observers`` tells them, ``delivery`` each of them. ``subscription`` follows
the control log for one group of processes; ``webhook`` is a handler that posts CloudEvents.
"""
