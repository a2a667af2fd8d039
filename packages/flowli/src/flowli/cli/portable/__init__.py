"""Executions as files."""
