"""The developers' tools: names, versions and origins. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bridge.opa import executable
from bridge.opa.executable import Version

GATEWAY_API_VERSION = "1.7.0"
# sha256 over the lines "<sha256 of a file>  <channel>/<file name>" of the CRDs of that version, in the names' order
GATEWAY_API_DIGEST = "d64c64deb6bc3e287c4fc7551ed48b39afa4b0914b336ae7a88015144cf701f5"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(executable.Tool):
    """A tool that is downloaded from `release`, by platform such as linux-amd64, or built by Go."""

    release: Callable[[str], Release | None]
    go: GoBuild


_KUBERNETES = "1.36.3"
_STAGING = "v0.36.3"  # what k8s.io/kubernetes takes from its own tree is published under this version
_ETCD = "3.7.3"
_HELM = "4.3.1"
_PROMETHEUS = "3.13.5"
_PROMETHEUS_MODULE = "v0.313.5"  # the same release, as a Go module

# https://kubernetes.io/docs/tasks/administer-cluster/verify-signed-artifacts/
_KUBERNETES_SIGNER = Signer("krel-staging@k8s-releng-prod.iam.gserviceaccount.com", "https://accounts.google.com")


_PLATFORMS = frozenset({"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"})


def _opa_release(platform: str) -> Release | None:
    file = executable.RELEASE_FILES.get(platform)
    return Release(f"{executable.RELEASE}/{file}", f"{executable.RELEASE}/{file}.sha256") if file else None


def _etcd_release(platform: str) -> Release | None:
    if platform not in _PLATFORMS:
        return None
    base = f"https://github.com/etcd-io/etcd/releases/download/v{_ETCD}"
    stem = f"etcd-v{_ETCD}-{platform}"
    archive = "tar.gz" if platform.startswith("linux") else "zip"
    return Release(f"{base}/{stem}.{archive}", f"{base}/SHA256SUMS", f"{stem}/etcd")


def _helm_release(platform: str) -> Release | None:
    if platform not in _PLATFORMS:
        return None
    url = f"https://get.helm.sh/helm-v{_HELM}-{platform}.tar.gz"
    return Release(url, f"{url}.sha256sum", f"{platform}/helm")


def _kubernetes_release(name: str, systems: frozenset[str]) -> Callable[[str], Release | None]:
    def release(platform: str) -> Release | None:
        system, _, machine = platform.partition("-")
        if platform not in _PLATFORMS or system not in systems:
            return None
        url = f"https://dl.k8s.io/v{_KUBERNETES}/bin/{system}/{machine}/{name}"
        return Release(url, f"{url}.sha256", signer=_KUBERNETES_SIGNER)

    return release


def _prometheus_release(platform: str) -> Release | None:
    if platform not in _PLATFORMS:
        return None
    base = f"https://github.com/prometheus/prometheus/releases/download/v{_PROMETHEUS}"
    stem = f"prometheus-{_PROMETHEUS}.{platform}"
    return Release(f"{base}/{stem}.tar.gz", f"{base}/sha256sums.txt", f"{stem}/promtool")


def _kubernetes_build(name: str, about: str) -> GoBuild:
    return GoBuild(
        module="k8s.io/kubernetes",
        version=f"v{_KUBERNETES}",
        package=f"k8s.io/kubernetes/cmd/{name}",
        staging=_STAGING,
        stamps=("k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"),
        about=about,
    )


_ETCD_MAIN = """\
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""

_ALL = (
    Tool(
        name=executable.OPA.name,
        version=executable.OPA.version,
        minimum=executable.OPA.minimum,
        version_arguments=executable.OPA.version_arguments,
        variables=executable.OPA.variables,
        release=_opa_release,
        go=GoBuild(
            "github.com/open-policy-agent/opa",
            f"v{executable.OPA.version}",
            "github.com/open-policy-agent/opa",
        ),
    ),
    Tool(
        name="etcd",
        version=_ETCD,
        minimum=Version(3, 7, 0),
        version_arguments=("--version",),
        folder_variables=("KUBEBUILDER_ASSETS",),
        release=_etcd_release,
        go=GoBuild("go.etcd.io/etcd/server/v3", f"v{_ETCD}", "go.etcd.io/etcd/server/v3", main=_ETCD_MAIN),
    ),
    Tool(
        name="kube-apiserver",
        version=_KUBERNETES,
        minimum=Version(1, 36, 0),
        version_arguments=("--version",),
        folder_variables=("KUBEBUILDER_ASSETS",),
        release=_kubernetes_release("kube-apiserver", frozenset({"linux"})),
        go=_kubernetes_build("kube-apiserver", "3 to 6 minutes"),
    ),
    Tool(
        name="kubectl",
        version=_KUBERNETES,
        minimum=Version(1, 30, 0),  # whichever a person has: it only applies objects
        version_arguments=("version", "--client"),
        folder_variables=("KUBEBUILDER_ASSETS",),
        release=_kubernetes_release("kubectl", frozenset({"linux", "darwin"})),
        go=_kubernetes_build("kubectl", "about 2 minutes"),
    ),
    Tool(
        name="helm",
        version=_HELM,
        minimum=Version(3, 14, 0),  # whichever a person has
        version_arguments=("version", "--short"),
        variables=("BRIDGE_HELM",),
        release=_helm_release,
        go=GoBuild(
            "helm.sh/helm/v4",
            f"v{_HELM}",
            "helm.sh/helm/v4/cmd/helm",
            stamps=("helm.sh/helm/v4/internal/version.version",),
            about="3 to 6 minutes",
        ),
    ),
    Tool(
        name="promtool",
        version=_PROMETHEUS,
        minimum=Version(2, 42, 0),  # Debian 12's, in its package `prometheus`
        version_arguments=("--version",),
        variables=("BRIDGE_PROMTOOL",),
        release=_prometheus_release,
        go=GoBuild(
            module="github.com/prometheus/prometheus",
            version=_PROMETHEUS_MODULE,
            package="github.com/prometheus/prometheus/cmd/promtool",
            replaced=("cloud.google.com/go => cloud.google.com/go v0.123.0",),
            tags=("remove_all_sd",),  # without the clients of every cloud
            stamps=("github.com/prometheus/common/version.Version",),
            stamp=_PROMETHEUS,
            about="2 to 5 minutes",
        ),
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
