"""`python -m hack.tools`: install tools, or say where they are."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bridge.opa.executable.errors import ToolError, ToolMissingError
from bridge.opa.executable.progress import say
from hack.tools.catalog import GATEWAY_API_VERSION, TOOLS
from hack.tools.crds import CRDS, ensure_crds, find_crds
from hack.tools.finding import ensure, find


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, or 1 when a tool is missing (argparse itself exits with 2)."""
    options = _parser().parse_args(arguments)
    try:
        for name in options.names:
            if options.command == "install":
                _install(name)
            else:
                print(_which(name))
    except ToolError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hack.tools", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, explanation in (
        ("install", "find tools, and install those that are missing into the cache"),
        ("which", "print where tools are; installs nothing"),
    ):
        names = commands.add_parser(command, help=explanation)
        names.add_argument("names", nargs="+", metavar="NAME", choices=[*TOOLS, CRDS], help=", ".join([*TOOLS, CRDS]))
    return parser


def _install(name: str) -> None:
    if name == CRDS:
        say(f"{name} {GATEWAY_API_VERSION}: {ensure_crds()}")
        return
    found = ensure(name)
    say(f"{name} {found.version}: {found.path} ({found.source})")


def _which(name: str) -> Path:
    folder = find_crds() if name == CRDS else None
    found = find(name) if name != CRDS else None
    path = folder or (found.path if found else None)
    if path is None:
        raise ToolMissingError(f"{name} is not here; `{sys.executable} -m hack.tools install {name}` gets it")
    return path


if __name__ == "__main__":
    sys.exit(main())
