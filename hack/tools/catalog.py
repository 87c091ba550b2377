"""The developers' tools: names, versions and origins. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from bridge.opa import executable
from bridge.opa.executable import Version


@dataclass(frozen=True, slots=True)
class GoBuild:
    """How Go builds a tool: the command `package`, in a temporary module that requires `module` at `version`.

    `main` is the source of its command if the tool's own command cannot be referenced; `staging` is the version of the
    published modules that `module` replaces by its own folders; `replaced` are lines of its go.mod that the temporary
    module needs too. `tags` are build tags.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(executable.Tool):
    """A tool that Go builds."""

    go: GoBuild


_KUBERNETES = "1.36.3"
_STAGING = "v0.36.3"  # what k8s.io/kubernetes takes from its own tree is published under this version
_ETCD = "3.7.3"
_HELM = "4.3.1"
_PROMETHEUS = "3.13.5"
_PROMETHEUS_MODULE = "v0.313.5"  # the same release, as a Go module
_VERSITYGW = "1.8.0"
_DISTRIBUTION = "3.1.2"


def _kubernetes_build(name: str) -> GoBuild:
    return GoBuild(
        module="k8s.io/kubernetes",
        version=f"v{_KUBERNETES}",
        package=f"k8s.io/kubernetes/cmd/{name}",
        staging=_STAGING,
        stamps=("k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"),
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
        **{one.name: getattr(executable.OPA, one.name) for one in fields(executable.OPA)},
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
        go=GoBuild("go.etcd.io/etcd/server/v3", f"v{_ETCD}", "go.etcd.io/etcd/server/v3", main=_ETCD_MAIN),
    ),
    Tool(
        name="kube-apiserver",
        version=_KUBERNETES,
        minimum=Version(1, 36, 0),
        version_arguments=("--version",),
        folder_variables=("KUBEBUILDER_ASSETS",),
        go=_kubernetes_build("kube-apiserver"),
    ),
    Tool(
        name="kubectl",
        version=_KUBERNETES,
        minimum=Version(1, 30, 0),  # whichever a person has: it only applies objects
        version_arguments=("version", "--client"),
        folder_variables=("KUBEBUILDER_ASSETS",),
        go=_kubernetes_build("kubectl"),
    ),
    Tool(
        name="helm",
        version=_HELM,
        minimum=Version(3, 14, 0),  # whichever a person has
        version_arguments=("version", "--short"),
        variables=("BRIDGE_HELM",),
        go=GoBuild(
            "helm.sh/helm/v4",
            f"v{_HELM}",
            "helm.sh/helm/v4/cmd/helm",
            stamps=("helm.sh/helm/v4/internal/version.version",),
        ),
    ),
    Tool(
        name="promtool",
        version=_PROMETHEUS,
        minimum=Version(2, 42, 0),  # Debian 12's, in its package `prometheus`
        version_arguments=("--version",),
        variables=("BRIDGE_PROMTOOL",),
        go=GoBuild(
            module="github.com/prometheus/prometheus",
            version=_PROMETHEUS_MODULE,
            package="github.com/prometheus/prometheus/cmd/promtool",
            replaced=("cloud.google.com/go => cloud.google.com/go v0.123.0",),
            tags=("remove_all_sd",),  # without the clients of every cloud
            stamps=("github.com/prometheus/common/version.Version",),
            stamp=_PROMETHEUS,
        ),
    ),
    Tool(
        name="versitygw",  # S3 for a folder
        version=_VERSITYGW,
        minimum=Version(1, 8, 0),
        version_arguments=("--version",),
        go=GoBuild(
            "github.com/versity/versitygw",
            f"v{_VERSITYGW}",
            "github.com/versity/versitygw/cmd/versitygw",
            stamps=("main.Version",),
        ),
    ),
    Tool(
        name="registry",  # of OCI artifacts
        version=_DISTRIBUTION,
        minimum=Version(3, 0, 0),
        version_arguments=("--version",),
        go=GoBuild(
            "github.com/distribution/distribution/v3",
            f"v{_DISTRIBUTION}",
            "github.com/distribution/distribution/v3/cmd/registry",
            stamps=("github.com/distribution/distribution/v3/version.version",),
        ),
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
