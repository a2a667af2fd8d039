"""Workflow patterns on the Context API of flowli."""
