"""The project's cache of tools: `<cache>/tools/<system>-<processor>/<name>/<version>/`.

A folder is created by one rename, complete or not at all; two processes that need the same one wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge.opa.executable.catalog import this_platform
from bridge.opa.executable.errors import CacheError
from bridge.opa.executable.progress import say

_ABANDONED = 24 * 3600  # seconds after which an unfinished folder belongs to no running process
_SOURCE = "source"  # the file next to a tool with its origin


def cache_root() -> Path:
    """Return `$BRIDGE_CACHE`, otherwise `policy-bridge` in `$XDG_CACHE_HOME` or `~/.cache`. Need not exist yet."""
    if named := os.environ.get("BRIDGE_CACHE"):
        return Path(named).expanduser().absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "policy-bridge"
    try:
        return Path.home() / ".cache" / "policy-bridge"
    except RuntimeError as error:
        raise CacheError("there is no home folder for the cache: set BRIDGE_CACHE to a folder") from error


def tool_folder(name: str, version: str) -> Path:
    """Return the folder of a tool of that version, whether it exists or not."""
    return cache_root() / "tools" / str(this_platform()) / name / version


def source_of(folder: Path) -> str:
    """Return the origin of a cached tool, as text; empty if unknown."""
    try:
        return (folder / _SOURCE).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` if the block succeeds, and is removed otherwise.

    Raises CacheError if the cache cannot be written.
    """
    waiting_room = cache_root() / "tmp"
    try:
        waiting_room.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(waiting_room)
        temporary = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=waiting_room))
    except OSError as error:
        raise CacheError(f"the cache {cache_root()} cannot be written ({error}): set BRIDGE_CACHE") from error
    try:
        yield temporary
        temporary.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)  # only an incomplete or damaged one is ever replaced
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_source(folder: Path, source: str) -> None:
    """Write the origin of a tool next to it."""
    (folder / _SOURCE).write_text(f"{source}\n", encoding="utf-8")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache's lock with that name. It is released when the process ends, for any reason."""
    folder = cache_root() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / name).open("a")
    except OSError as error:
        raise CacheError(f"the cache {cache_root()} cannot be written ({error}): set BRIDGE_CACHE") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"{name}: waiting for another process that is installing it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep(waiting_room: Path) -> None:
    for entry in waiting_room.iterdir():
        try:
            abandoned = time.time() - entry.stat().st_mtime > _ABANDONED
        except FileNotFoundError:
            continue  # another process has just removed it
        if abandoned:
            shutil.rmtree(entry, ignore_errors=True)
