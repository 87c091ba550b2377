"""Resource types, the selection of their objects, and permissions on them."""

from dataclasses import dataclass

from bridge.model.keys import CORE

GATEWAY_API = "gateway.networking.k8s.io"
GATEWAY = f"{GATEWAY_API}/Gateway"
CRD = "apiextensions.k8s.io/CustomResourceDefinition"
POLICY_KIND = "policybridge.io/PolicyKind"
CONSTRAINT = "policybridge.io/Constraint"
OWN_VERSIONS = dict.fromkeys((POLICY_KIND, CONSTRAINT, "policybridge.io/RegoPolicy"), ("v1alpha1",))  # of the own CRDs
# Kinds of the Kubernetes API v1.34 in the groups that no CRD can have, because their names have no dot.
KUBERNETES = {
    CORE: frozenset(
        (
            *("Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node"),
            *("PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController"),
            *("ResourceQuota", "Secret", "Service", "ServiceAccount"),
        )
    ),
    "apps": frozenset(("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    "autoscaling": frozenset(("HorizontalPodAutoscaler", "Scale")),
    "batch": frozenset(("CronJob", "Job")),
    "policy": frozenset(("Eviction", "PodDisruptionBudget", "PodSecurityPolicy")),
}
CORE_VERSIONS = dict.fromkeys((f"{CORE}/{kind}" for kind in KUBERNETES[CORE]), ("v1",))
GUARDRAIL_PREFIX = "bridge.guardrails."  # of the Rego packages that judge what is in effect
DESCRIBING = frozenset({POLICY_KIND, CRD})  # types whose objects describe policy kinds
ALWAYS = (
    CRD,
    POLICY_KIND,
    CONSTRAINT,
    "core/Namespace",
    "core/Service",
    *(
        f"{GATEWAY_API}/{kind}"
        for kind in (
            "GatewayClass",
            "Gateway",
            "ListenerSet",
            "HTTPRoute",
            "GRPCRoute",
            "TLSRoute",
            "TCPRoute",
            "UDPRoute",
            "ReferenceGrant",
        )
    ),
)

# Types whose objects are in no namespace, without those of other vendors' CRDs.
CLUSTER_SCOPED = frozenset(
    {
        "admissionregistration.k8s.io/MutatingAdmissionPolicy",
        "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
        "apiextensions.k8s.io/CustomResourceDefinition",
        "apiregistration.k8s.io/APIService",
        "authentication.k8s.io/SelfSubjectReview",
        "authentication.k8s.io/TokenReview",
        "authorization.k8s.io/SelfSubjectAccessReview",
        "authorization.k8s.io/SelfSubjectRulesReview",
        "authorization.k8s.io/SubjectAccessReview",
        "certificates.k8s.io/CertificateSigningRequest",
        "certificates.k8s.io/ClusterTrustBundle",
        "cluster.open-cluster-management.io/ManagedCluster",
        "cluster.open-cluster-management.io/ManagedClusterSet",
        "core/ComponentStatus",
        "core/Namespace",
        "core/Node",
        "core/PersistentVolume",
        "flowcontrol.apiserver.k8s.io/FlowSchema",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "gateway.networking.k8s.io/GatewayClass",
        "internal.apiserver.k8s.io/StorageVersion",
        "networking.k8s.io/IPAddress",
        "networking.k8s.io/IngressClass",
        "networking.k8s.io/ServiceCIDR",
        "node.k8s.io/RuntimeClass",
        "policy.networking.k8s.io/ClusterNetworkPolicy",  # no release of the module has its CRD
        "policybridge.io/Constraint",
        "policybridge.io/PolicyKind",
        "policybridge.io/RegoPolicy",
        "rbac.authorization.k8s.io/ClusterRole",
        "rbac.authorization.k8s.io/ClusterRoleBinding",
        "resource.k8s.io/DeviceClass",
        "resource.k8s.io/DeviceTaintRule",
        "resource.k8s.io/ResourceSlice",
        "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/StorageClass",
        "storage.k8s.io/VolumeAttachment",
        "storage.k8s.io/VolumeAttributesClass",
        "storagemigration.k8s.io/StorageVersionMigration",
    }
)


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A kind as the API server serves it. `group` is `core` for the core group; `plural` is the name in URLs."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def id(self) -> str:
        """Return `<group>/<Kind>`."""
        return f"{self.group}/{self.kind}"

    @property
    def name(self) -> str:
        """Return its name for kubectl and RBAC: `httproutes.gateway.networking.k8s.io`."""
        return self.plural if self.group == CORE else f"{self.plural}.{self.group}"

    @property
    def api_version(self) -> str:
        """Return the `apiVersion` of its objects."""
        return self.version if self.group == CORE else f"{self.group}/{self.version}"

    @property
    def path(self) -> str:
        """Return the URL path of all its objects in all namespaces, without a trailing slash."""
        root = "/api" if self.group == CORE else f"/apis/{self.group}"
        return f"{root}/{self.version}/{self.plural}"

    def collection(self, namespace: str) -> str:
        """Return the URL path of all its objects in one namespace; empty: in all."""
        if not namespace:
            return self.path
        root, _, plural = self.path.rpartition("/")
        return f"{root}/namespaces/{namespace}/{plural}"

    def object_path(self, namespace: str, name: str) -> str:
        """Return the URL path of one object. `namespace` is ignored for a cluster-scoped type."""
        if not self.namespaced:
            return f"{self.path}/{name}"
        return f"{self.collection(namespace)}/{name}"


def regular_plural(kind: str) -> str:
    """Return the regular plural name of a kind, in lower case, which all of Kubernetes' own have except Endpoints."""
    word = kind.lower()
    if word == "endpoints":
        return word
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def plural_by_rule(type_id: str) -> str:
    """Return the default plural name of a type."""
    return regular_plural(type_id.partition("/")[2])


@dataclass(frozen=True, slots=True, order=True)
class Access:
    """Verbs on one resource: `plural` or `plural/status` of a group ("" for the core group), and their purpose.

    `namespace` empty: in all, or of a cluster-scoped type; `names` empty: on objects of any name.
    """

    namespace: str
    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    why: str = ""

    @property
    def what(self) -> str:
        """Return it in kubectl's form: `httproutes.gateway.networking.k8s.io/status`."""
        plural, slash, subresource = self.resource.partition("/")
        return f"{plural}.{self.group}".rstrip(".") + slash + subresource


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects of one type: served in `version` (empty: the preferred one), in `namespaces` (empty: all), by selectors.

    The selectors are the API server's own (`app=web`, `spec.type!=ExternalName`); empty ones select everything.
    """

    version: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""

    @property
    def parameters(self) -> dict[str, str]:
        """Return the selectors as parameters of a list or a watch."""
        given = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of an object by JSON Pointer (RFC 6901): with `keep` only these, otherwise all except those of `drop`.

    apiVersion, kind and metadata always stay, except for metadata fields in `drop`. With both None, everything stays.
    """

    keep: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None


EVERYTHING = Selection()
