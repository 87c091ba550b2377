"""The command line of tools: errors, progress on standard error, `install` and `which`.

ToolError
├── ToolMissingError   not found, and every installation failed
├── DownloadError      the release could not be fetched
│   └── ChecksumError  it differs from the published file: never used
├── BuildError         Go is missing, or failed
└── CacheError         the cache cannot be written
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class ToolError(Exception):
    """One line for the user who has to fix it."""


class ToolMissingError(ToolError):
    """The tool is missing; the text lists the attempts and the fix."""


class DownloadError(ToolError):
    """The release could not be fetched."""


class ChecksumError(DownloadError):
    """The fetched file differs from the published one."""


class BuildError(ToolError):
    """Go is missing, or could not build the tool."""


class CacheError(ToolError):
    """The cache's folder cannot be created or written."""


_BEAT = 20.0  # seconds between two lines


def say(line: str) -> None:
    """Print one line on standard error."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def step(line: str) -> Iterator[None]:
    """Print the beginning of a step, and repeat it with its duration while the block runs."""
    say(line)
    ended = threading.Event()
    started = time.monotonic()

    def beat() -> None:
        while not ended.wait(_BEAT):
            say(f"{line} {time.monotonic() - started:.0f} s")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Installer(Protocol):
    """Tools that a command installs and finds, by name."""

    @property
    def names(self) -> Sequence[str]:
        """Return their names."""

    def install(self, name: str) -> str:
        """Install a missing tool; return a line about it. Raises ToolError."""

    def find(self, name: str) -> Path | None:
        """Return where a tool is, None if it is missing."""


def run_command(module: str, about: str | None, installer: Installer, arguments: list[str] | None = None) -> int:
    """Run `python -m MODULE install|which NAME…`; an installer of one tool takes no names.

    Returns the exit code: 0, or 1 if a tool is missing (argparse itself exits with 2).
    """
    several = len(installer.names) > 1
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.set_defaults(names=installer.names)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, explanation in (
        ("install", "find tools, and install those that are missing into the cache"),
        ("which", "print where tools are; installs nothing"),
    ):
        names = commands.add_parser(command, help=explanation)
        if several:
            listed = ", ".join(installer.names)
            names.add_argument("names", nargs="+", metavar="NAME", choices=installer.names, help=listed)
    options = parser.parse_args(arguments)
    try:
        for name in options.names:
            if options.command == "install":
                say(installer.install(name))
            elif path := installer.find(name):
                print(path)
            else:
                command = " ".join([sys.executable, "-m", module, "install", *([name] if several else [])])
                raise ToolMissingError(f"{name} is not installed; `{command}` gets it")
    except ToolError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 0
