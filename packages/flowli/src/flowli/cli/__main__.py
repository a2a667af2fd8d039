"""``python -m flowli.cli`` is ``flowli``."""

from flowli.cli.main import main

if __name__ == "__main__":
    main()
