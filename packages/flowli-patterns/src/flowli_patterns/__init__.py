"""Workflow patterns on the Context API of flowli, seen as ``flowli.patterns``."""
