"""The developers' tools: names, versions and origins. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bridge.opa.executable.catalog import OPA, GoBuild, Platform, Release, Signer, Tool, Version

GATEWAY_API_VERSION = "1.7.0"
# sha256 over the lines "<sha256 of a file>  <channel>/<file name>" of the CRDs of that version, in the names' order
GATEWAY_API_DIGEST = "d64c64deb6bc3e287c4fc7551ed48b39afa4b0914b336ae7a88015144cf701f5"

_KUBERNETES = "1.36.3"
_STAGING = "v0.36.3"  # what k8s.io/kubernetes takes from its own tree is published under this version
_ETCD = "3.7.3"
_HELM = "4.3.1"
_PROMETHEUS = "3.13.5"
_PROMETHEUS_MODULE = "v0.313.5"  # the same release, as a Go module

# https://kubernetes.io/docs/tasks/administer-cluster/verify-signed-artifacts/
_KUBERNETES_SIGNER = Signer("krel-staging@k8s-releng-prod.iam.gserviceaccount.com", "https://accounts.google.com")


def _etcd_release(platform: Platform) -> Release | None:
    if platform.system not in {"linux", "darwin"} or platform.machine not in {"amd64", "arm64"}:
        return None
    base = f"https://github.com/etcd-io/etcd/releases/download/v{_ETCD}"
    stem = f"etcd-v{_ETCD}-{platform}"
    archive = "tar.gz" if platform.system == "linux" else "zip"
    return Release(f"{base}/{stem}.{archive}", f"{base}/SHA256SUMS", f"{stem}/etcd")


def _helm_release(platform: Platform) -> Release | None:
    if platform.system not in {"linux", "darwin"} or platform.machine not in {"amd64", "arm64"}:
        return None
    url = f"https://get.helm.sh/helm-v{_HELM}-{platform}.tar.gz"
    return Release(url, f"{url}.sha256sum", f"{platform}/helm")


def _kubernetes_release(name: str, systems: frozenset[str]) -> Callable[[Platform], Release | None]:
    def release(platform: Platform) -> Release | None:
        if platform.system not in systems or platform.machine not in {"amd64", "arm64"}:
            return None
        url = f"https://dl.k8s.io/v{_KUBERNETES}/bin/{platform.system}/{platform.machine}/{name}"
        return Release(url, f"{url}.sha256", signer=_KUBERNETES_SIGNER)

    return release


def _prometheus_release(platform: Platform) -> Release | None:
    if platform.system not in {"linux", "darwin"} or platform.machine not in {"amd64", "arm64"}:
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
    OPA,
    Tool(
        name="etcd",
        version=_ETCD,
        minimum=Version(3, 7, 0),
        version_arguments=("--version",),
        folder_variables=("KUBEBUILDER_ASSETS",),
        needed_for="the tests' control plane",
        release=_etcd_release,
        go=GoBuild("go.etcd.io/etcd/server/v3", f"v{_ETCD}", "go.etcd.io/etcd/server/v3", main=_ETCD_MAIN),
        optional=True,
    ),
    Tool(
        name="kube-apiserver",
        version=_KUBERNETES,
        minimum=Version(1, 36, 0),
        version_arguments=("--version",),
        folder_variables=("KUBEBUILDER_ASSETS",),
        needed_for="the tests' control plane",
        release=_kubernetes_release("kube-apiserver", frozenset({"linux"})),
        go=_kubernetes_build("kube-apiserver", "3 to 6 minutes"),
        optional=True,
    ),
    Tool(
        name="kubectl",
        version=_KUBERNETES,
        minimum=Version(1, 30, 0),  # whichever a person has: it only applies objects
        version_arguments=("version", "--client"),
        folder_variables=("KUBEBUILDER_ASSETS",),
        needed_for="tests that apply objects as a person does",
        release=_kubernetes_release("kubectl", frozenset({"linux", "darwin"})),
        go=_kubernetes_build("kubectl", "about 2 minutes"),
        optional=True,
    ),
    Tool(
        name="helm",
        version=_HELM,
        minimum=Version(3, 14, 0),  # whichever a person has
        version_arguments=("version", "--short"),
        variables=("BRIDGE_HELM",),
        needed_for="rendering the manifests from the chart, and its tests",
        release=_helm_release,
        go=GoBuild(
            "helm.sh/helm/v4",
            f"v{_HELM}",
            "helm.sh/helm/v4/cmd/helm",
            stamps=("helm.sh/helm/v4/internal/version.version",),
            about="3 to 6 minutes",
        ),
        optional=True,
    ),
    Tool(
        name="promtool",
        version=_PROMETHEUS,
        minimum=Version(2, 42, 0),  # Debian 12's, in its package `prometheus`
        version_arguments=("--version",),
        variables=("BRIDGE_PROMTOOL",),
        needed_for="tests of metrics, alert rules and the dashboard",
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
        optional=True,
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
