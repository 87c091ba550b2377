"""Building a tool with Go at its pinned version, in a temporary module; and what every installation reports.

Its steps are on standard error. Its errors:

ToolError (of `bridge.opa.executable`)
├── DownloadError      the release could not be fetched
│   └── ChecksumError  it differs from the published file: never used
└── BuildError         Go is missing, or failed
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge.opa.executable import ToolError, cache_root, locked, say
from hack.tools.catalog import GoBuild

_BEAT = 20.0  # seconds between two lines


class DownloadError(ToolError):
    """The release could not be fetched."""


class ChecksumError(DownloadError):
    """The fetched file differs from the published one."""


class BuildError(ToolError):
    """Go is missing, or could not build the tool."""


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


_LAST_LINES = 12  # of Go's output when it fails
_USUAL_PLACE = Path("/usr/local/go/bin/go")  # the location of Go's installer, often without PATH
_REPLACED_BY_FOLDER = re.compile(r"^(?:replace\s+)?\s*(\S+) => \./", re.MULTILINE)


def find_go() -> Path:
    """Return the `go` command. Raises BuildError if there is none."""
    if on_path := shutil.which("go"):
        return Path(on_path)
    if os.access(_USUAL_PLACE, os.X_OK):
        return _USUAL_PLACE
    raise BuildError("no Go on PATH to build it")


def build_executable(name: str, build: GoBuild, folder: Path) -> None:
    """Build a tool into `folder / name`; it takes minutes, and reports progress.

    Raises BuildError with the last lines of Go's output.
    """
    go = find_go()
    with (
        tempfile.TemporaryDirectory(prefix="go-", dir=folder) as scratch,
        step(f"{name}: building {build.package}@{build.version} with Go ({build.about})"),
    ):
        workspace = Path(scratch)
        flags = ["-trimpath", "-ldflags", link_flags(build)]
        if build.tags:
            flags += ["-tags", ",".join(build.tags)]
        if build.main or build.staging or build.replaced:
            write_module(go, build, workspace)
            package = "." if build.main else build.package
            run_go(go, ["build", "-mod=mod", *flags, "-o", str(folder / name), package], workspace)
        else:
            run_go(go, ["install", *flags, f"{build.package}@{build.version}"], workspace, GOBIN=str(workspace))
            (workspace / build.package.rsplit("/", 1)[-1]).rename(folder / name)


def link_flags(build: GoBuild) -> str:
    """Return the linker flags: no symbol tables (a third of the size), and the version for the tool's output."""
    return " ".join(["-s", "-w", *(f"-X {variable}={build.stamp or build.version}" for variable in build.stamps)])


def write_module(go: Path, build: GoBuild, workspace: Path) -> None:
    """Write `go.mod`, and `main.go` if the tool needs one, into an empty folder."""
    published = staging_modules(go, build, workspace) if build.staging else []
    lines = ["module build", "", f"require {build.module} {build.version}"]
    lines += [f"replace {module} => {module} {build.staging}" for module in published]
    lines += [f"replace {line}" for line in build.replaced]
    (workspace / "go.mod").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if build.main:
        (workspace / "main.go").write_text(build.main, encoding="utf-8")


def staging_modules(go: Path, build: GoBuild, workspace: Path) -> list[str]:
    """Return the modules that `build.module` replaces by its own folders, from its `go.mod`."""
    answer = download_module(go, f"{build.module}@{build.version}", workspace)
    return sorted(set(_REPLACED_BY_FOLDER.findall(Path(answer["GoMod"]).read_text(encoding="utf-8"))))


def download_module(go: Path, module: str, workspace: Path) -> dict[str, Any]:
    """Return the result of `go mod download -json` for a module: GoMod, Zip, Dir.

    Raises BuildError if it was not fetched.

    A module that requires a newer Go than this one is fetched too, and then has no Dir: its files can be read.
    """
    answer = subprocess.run(
        [go, "mod", "download", "-json", module],
        cwd=workspace,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        report = json.loads(answer.stdout)
    except json.JSONDecodeError:
        report = {"Error": answer.stderr.strip()}
    if "Zip" not in report or "GoMod" not in report:
        raise BuildError(f"Go could not fetch {module}: {report.get('Error') or answer.stderr.strip()}")
    return dict(report)


def run_go(go: Path, arguments: list[str], workspace: Path, **variables: str) -> None:
    """Run Go; raises BuildError with the end of its output."""
    answer = subprocess.run(
        [*_politely(), go, *arguments],
        cwd=workspace,
        env=_environment() | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        said = [line for line in answer.stdout.splitlines() if not line.startswith("go: downloading ")]
        raise BuildError(f"`go {arguments[0]}` failed:\n  " + "\n  ".join(said[-_LAST_LINES:]))


def _politely() -> list[str]:
    nice = shutil.which("nice")  # a build uses every processor for minutes: give others priority
    return [nice] if nice else []


def _environment() -> dict[str, str]:
    # A user's settings for other builds (a workspace, a target, a vendor folder) must not affect this one.
    kept = {k: v for k, v in os.environ.items() if k not in {"GOOS", "GOARCH", "GOBIN"}}
    return kept | {"CGO_ENABLED": "0", "GOWORK": "off", "GO111MODULE": "on"}


def go_command(package: str, version: str) -> Path:
    """Return the executable of a package's command at a version. The first build takes a minute or more."""
    name = package.rsplit("/", 1)[-1]
    folder = cache_root() / "tests" / f"{name}-{version}"
    with locked(f"test-{name}"):
        if not (folder / name).exists():
            folder.mkdir(parents=True, exist_ok=True)
            run_go(find_go(), ["install", f"{package}@{version}"], folder, GOBIN=str(folder))
    return folder / name
