"""`python -m bridge.opa.executable`: install `opa`, or print its path."""

from __future__ import annotations

import argparse
import sys

from bridge.opa.executable.catalog import OPA
from bridge.opa.executable.errors import ToolError, ToolMissingError
from bridge.opa.executable.finding import search
from bridge.opa.executable.installing import ensure_opa
from bridge.opa.executable.progress import say


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, or 1 if `opa` is missing (argparse itself exits with 2)."""
    parser = argparse.ArgumentParser(prog="python -m bridge.opa.executable", description=__doc__)
    parser.add_argument("command", choices=["install", "which"], help="install it if it is missing; print where it is")
    options = parser.parse_args(arguments)
    try:
        if options.command == "install":
            found = ensure_opa()
            say(f"opa {found.version}: {found.path} ({found.source})")
        else:
            print(_which())
    except ToolError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 0


def _which() -> str:
    found = search(OPA).found
    if found is None:
        raise ToolMissingError(f"opa is not here; `{sys.executable} -m bridge.opa.executable install` gets it")
    return str(found.path)


if __name__ == "__main__":
    sys.exit(main())
