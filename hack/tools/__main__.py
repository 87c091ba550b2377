"""`python -m hack.tools`: install tools, or print where they are."""

from __future__ import annotations

import sys
from pathlib import Path

from bridge.opa.executable.command import run_command
from hack.tools.catalog import GATEWAY_API_VERSION, TOOLS
from hack.tools.crds import CRDS, ensure_crds, find_crds
from hack.tools.finding import ensure, find


class _Tools:
    names = (*TOOLS, CRDS)

    def install(self, name: str) -> str:
        if name == CRDS:
            return f"{name} {GATEWAY_API_VERSION}: {ensure_crds()}"
        found = ensure(name)
        return f"{name} {found.version}: {found.path} ({found.source})"

    def find(self, name: str) -> Path | None:
        if name == CRDS:
            return find_crds()
        found = find(name)
        return found.path if found else None


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    return run_command("hack.tools", __doc__, _Tools(), arguments)


if __name__ == "__main__":
    sys.exit(main())
