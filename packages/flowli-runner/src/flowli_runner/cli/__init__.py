"""The command ``flowli-runner``."""
