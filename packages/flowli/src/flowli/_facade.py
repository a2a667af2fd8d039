"""Names under ``flowli`` that another distribution fills."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["require"]


def require(package: str, name: str) -> None:
    """Check that the distribution behind a facade is installed.

    Args:
        package: the import package of the distribution.
        name: the name under ``flowli``.

    Raises:
        ModuleNotFoundError: it is not installed; says what to run.
    """
    if find_spec(package) is None:
        distribution = package.replace("_", "-")
        raise ModuleNotFoundError(
            f"{name} is provided by the {distribution} distribution, which is not installed. "
            f"Run: pip install {distribution}",
            name=package,
        )
