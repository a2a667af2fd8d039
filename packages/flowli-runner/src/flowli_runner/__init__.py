"""Consumers for work that flowli workflows delegate."""
