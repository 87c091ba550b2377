"""The developers' tools: names, versions and origins. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from bridge.opa import executable
from bridge.opa.executable import Version

CRDS = "gateway-api-crds"  # the name of Gateway API's CRDs among the tools


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
    inlined: tuple[str, ...] = ()  # packages beside the standard library in which functions are inlined; empty: in all
    stamps: tuple[str, ...] = ()  # variables that get the version from the linker, for `--version`
    stamp: str = ""  # that version, if it differs from the module's


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(executable.Tool):
    """A tool that Go builds, or else one of npm: `npm` is the file in its package that Node.js runs."""

    go: GoBuild | None = None
    npm: str = ""


_KUBERNETES = "1.36.3"
_STAGING = "v0.36.3"  # what k8s.io/kubernetes takes from its own tree is published under this version
_ETCD = "3.7.3"
_HELM = "4.3.1"
_PROMETHEUS = "3.13.5"
_PROMETHEUS_MODULE = "v0.313.5"  # the same release, as a Go module
_VERSITYGW = "1.8.0"
_DISTRIBUTION = "3.1.2"
_FAKE_GCS = "1.56.1"
_AZURITE = "3.35.0"


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

_FAKE_GCS_MAIN = r"""package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// upload returns a PUT of the XML API, which the server lacks, as an upload of its JSON API.
func upload(put *http.Request) *http.Request {
	bucket, name, _ := strings.Cut(strings.TrimPrefix(put.URL.Path, "/"), "/")
	about := map[string]any{"name": name, "metadata": map[string]string{}}
	for header := range put.Header {
		if key, found := strings.CutPrefix(header, "X-Goog-Meta-"); found {
			about["metadata"].(map[string]string)[strings.ToLower(key)] = put.Header.Get(header)
		}
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	first, _ := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/json"}})
	json.NewEncoder(first).Encode(about)
	second, _ := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/octet-stream"}})
	io.Copy(second, put.Body)
	parts.Close()
	query := url.Values{"uploadType": {"multipart"}}
	if generation := put.Header.Get("X-Goog-If-Generation-Match"); generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	request, _ := http.NewRequest("POST", "/upload/storage/v1/b/"+bucket+"/o?"+query.Encode(), &body)
	request.Header.Set("Content-Type", "multipart/related; boundary="+parts.Boundary())
	return request
}

func main() {
	if os.Args[1] == "--version" {
		fmt.Println("VERSION")
		return
	}
	address, folder := os.Args[1], os.Args[2]
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, StorageRoot: folder, PublicHost: address, Scheme: "http",
	})
	if err != nil {
		panic(err)
	}
	handler := server.HTTPHandler()
	panic(http.ListenAndServe(address, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != "PUT" {
			handler.ServeHTTP(writer, request)
			return
		}
		recorded := httptest.NewRecorder()
		handler.ServeHTTP(recorded, upload(request))
		var object struct{ Etag, Generation string }
		json.Unmarshal(recorded.Body.Bytes(), &object)
		writer.Header().Set("ETag", `"`+object.Etag+`"`)
		writer.Header().Set("X-Goog-Generation", object.Generation)
		writer.WriteHeader(recorded.Code)
	})))
}
""".replace("VERSION", _FAKE_GCS)

_ALL = (
    Tool(
        **{one.name: getattr(executable.OPA, one.name) for one in fields(executable.OPA)},
        go=GoBuild(
            "github.com/open-policy-agent/opa",
            f"v{executable.OPA.version}",
            "github.com/open-policy-agent/opa",
            # What answers queries. The rest (telemetry, registries, other stores, output) need not be fast: without
            # inlining, the compiler needs a third less time for it.
            inlined=(
                "github.com/open-policy-agent/opa/v1/...",
                "github.com/open-policy-agent/opa/internal/edittree/...",
                "github.com/gobwas/glob/...",
            ),
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
    Tool(
        name="fake-gcs-server",  # Google's storage for a folder: `fake-gcs-server ADDRESS FOLDER`
        version=_FAKE_GCS,
        minimum=Version(1, 56, 1),
        version_arguments=("--version",),
        go=GoBuild(
            "github.com/fsouza/fake-gcs-server",
            f"v{_FAKE_GCS}",
            "github.com/fsouza/fake-gcs-server",
            main=_FAKE_GCS_MAIN,
        ),
    ),
    Tool(
        name="azurite-blob",  # Azure's blob storage for a folder
        version=_AZURITE,
        minimum=Version(3, 35, 0),
        version_arguments=("--version",),
        npm="azurite/dist/src/blob/main.js",
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
