"""Registers this distribution with flowli; it provides nothing yet."""
