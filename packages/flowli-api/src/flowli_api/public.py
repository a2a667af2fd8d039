"""The public names, which ``flowli.api`` shows as its own. There are none in this version."""

__all__: list[str] = []
