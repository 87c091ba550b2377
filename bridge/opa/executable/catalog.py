"""The pinned `opa`, its version and sources: data only. `hack.tools` has the tools of developers."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and a processor, by their names in releases."""

    system: str
    machine: str

    def __str__(self) -> str:
        return f"{self.system}-{self.machine}"


def this_platform() -> Platform:
    """Return this platform. An unknown system or processor keeps its own name: no release fits, but Go may."""
    machine = platform.machine().lower()
    return Platform(sys.platform, _MACHINES.get(machine, machine or "unknown"))


_VERSION = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)\.(\d+)(?!\.?\d)(?:-([0-9A-Za-z.-]+))?")
_BEFORE_RELEASE = re.compile(r"^(alpha|beta|rc|dev|pre)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Major, minor, patch, and whether it is a release (1) or a pre-release (0: alpha, beta, rc, dev).

    A vendor's suffix (`1.36.3-gke.1`) counts as the release.
    """

    major: int
    minor: int
    patch: int
    released: int = 1

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + ("" if self.released else " (before release)")


def parse_version(text: str) -> Version | None:
    """Return the first `[v]X.Y.Z[-suffix]` in a text, such as the output of `opa version`; None if there is none."""
    match = _VERSION.search(text)
    if match is None:
        return None
    major, minor, patch, suffix = match.groups()
    return Version(int(major), int(minor), int(patch), 0 if suffix and _BEFORE_RELEASE.match(suffix) else 1)


_OPA = "1.22.0"


@dataclass(frozen=True, slots=True)
class Signer:
    """The Sigstore signer of a release file: the identity in the certificate, and the issuer of that identity.

    The signature and the certificate are at the file's URL with `.sig` and `.cert`.
    """

    identity: str
    issuer: str


@dataclass(frozen=True, slots=True)
class Release:
    """An official release file and the file with its SHA-256. `member` is the executable's path in an archive.

    `signer` is None for a project that publishes no signatures of its files.
    """

    url: str
    checksums: str
    member: str = ""
    signer: Signer | None = None


@dataclass(frozen=True, slots=True)
class GoBuild:
    """How Go builds a tool.

    Without `main` and `staging`: `go install <package>@<version>`. Otherwise a temporary module is written that
    requires `module` at `version`. `main` is the source of its command if the tool's own command cannot be referenced;
    `staging` is the version of the published modules that `module` replaces by its own folders; `replaced` are lines of
    its go.mod that the temporary module needs too. `tags` are build tags.
    """

    module: str
    version: str
    package: str
    main: str = ""
    staging: str = ""
    replaced: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    stamps: tuple[str, ...] = ()  # variables that get the version from the linker, for `--version`
    stamp: str = ""  # that version, if it differs from the module's
    about: str = "1 to 3 minutes"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: `version` is the one to install, `minimum` the lowest accepted one."""

    name: str
    version: str
    minimum: Version
    version_arguments: tuple[str, ...]
    needed_for: str
    release: Callable[[Platform], Release | None]
    go: GoBuild
    variables: tuple[str, ...] = ()  # environment variables that name the executable
    folder_variables: tuple[str, ...] = ()  # environment variables that name a folder with it
    optional: bool = False


def _opa_release(platform: Platform) -> Release | None:
    files = {
        "linux-amd64": "opa_linux_amd64_static",
        "linux-arm64": "opa_linux_arm64_static",
        "darwin-amd64": "opa_darwin_amd64",
        "darwin-arm64": "opa_darwin_arm64_static",
    }
    file = files.get(str(platform))
    if file is None:
        return None
    url = f"https://github.com/open-policy-agent/opa/releases/download/v{_OPA}/{file}"
    return Release(url, f"{url}.sha256")


OPA = Tool(
    name="opa",
    version=_OPA,
    minimum=Version(1, 22, 0),
    version_arguments=("version",),
    variables=("BRIDGE_OPA",),
    needed_for="everything: it decides",
    release=_opa_release,
    go=GoBuild("github.com/open-policy-agent/opa", f"v{_OPA}", "github.com/open-policy-agent/opa"),
)
