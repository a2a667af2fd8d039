"""The public names, which ``flowli.patterns`` shows as its own. There are none in this version."""

__all__: list[str] = []
