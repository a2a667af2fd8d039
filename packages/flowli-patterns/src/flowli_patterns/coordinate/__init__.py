"""Coordination across executions: who goes first, how many at once, how often, and who goes at all."""
