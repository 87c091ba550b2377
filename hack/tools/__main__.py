"""`python -m hack.tools install|which NAME…`: install missing tools into the cache, or print where they are.

Python's standard library is enough for all but the CRDs, so `make setup` installs OPA while pip installs the packages.
"""

import argparse
import sys

from bridge.opa.executable import ToolError, say
from hack.tools import TOOLS, ensure, find
from hack.tools.catalog import CRDS

NAMES = (*TOOLS, CRDS)


def install(name: str) -> None:
    """Install a missing tool, and report it. Raises ToolError."""
    if name == CRDS:
        from hack.tools.vendor_crds import GATEWAY_API_VERSION, ensure_crds

        say(f"{name} {GATEWAY_API_VERSION}: {ensure_crds()}")
        return
    found = ensure(name)
    say(f"{name} {found.version}: {found.path} ({found.source})")


def print_path(name: str) -> None:
    """Print the path of a tool. Raises ToolError if it is missing."""
    if name == CRDS:
        from hack.tools.vendor_crds import find_crds

        path = find_crds()
    else:
        path = getattr(find(name), "path", None)
    if path is None:
        raise ToolError(f"{name} is not installed; `{sys.executable} -m hack.tools install {name}` gets it")
    print(path)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hack.tools", description=__doc__)
    parser.add_argument("command", choices=("install", "which"))
    parser.add_argument("names", nargs="+", metavar="NAME", choices=NAMES, help=", ".join(NAMES))
    options = parser.parse_args(arguments)
    try:
        for name in options.names:
            (install if options.command == "install" else print_path)(name)
    except ToolError as error:
        say(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
