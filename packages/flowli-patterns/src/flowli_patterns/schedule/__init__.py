"""Schedules: workflows that are started by the clock, once for each slot in the whole fleet.

``when``: cron expressions, intervals, single instants. ``model``: what a schedule is. ``book``: what the control log
says of all schedules. ``decide``: which slots are started and which are left out. ``fire``: the protocol that carries a
decision out. ``job``: what every sweeper does. ``verbs``: ``engine.schedules``. ``declare``: schedules beside the code.
"""
