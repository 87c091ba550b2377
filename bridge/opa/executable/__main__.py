"""`python -m bridge.opa.executable`: install `opa`, or print its path."""

from __future__ import annotations

import sys
from pathlib import Path

from bridge.opa.executable.cache import search
from bridge.opa.executable.catalog import OPA
from bridge.opa.executable.command import run_command
from bridge.opa.executable.installation import ensure_opa


class _Opa:
    names = (OPA.name,)

    def install(self, name: str) -> str:
        found = ensure_opa()
        return f"{name} {found.version}: {found.path} ({found.source})"

    def find(self, name: str) -> Path | None:  # noqa: ARG002 - there is one
        found = search(OPA).found
        return found.path if found else None


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    return run_command("bridge.opa.executable", __doc__, _Opa(), arguments)


if __name__ == "__main__":
    sys.exit(main())
