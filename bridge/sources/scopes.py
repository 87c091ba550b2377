"""What Kubernetes' own kinds are, where no API server can be asked: cluster-scoped or not, with a generation or not."""

from __future__ import annotations

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
        "core/ComponentStatus",
        "core/Namespace",
        "core/Node",
        "core/PersistentVolume",
        "flowcontrol.apiserver.k8s.io/FlowSchema",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "internal.apiserver.k8s.io/StorageVersion",
        "networking.k8s.io/IPAddress",
        "networking.k8s.io/IngressClass",
        "networking.k8s.io/ServiceCIDR",
        "node.k8s.io/RuntimeClass",
        "policybridge.io/Constraint",
        "policybridge.io/PolicyKind",
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

# Kubernetes' own groups in which not every kind counts generations. In the others, custom resources' above all, the API
# server does.
_WITHOUT_GENERATION = frozenset(
    {
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "core",
        "events.k8s.io",
        "internal.apiserver.k8s.io",
        "node.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)


def has_generation(group: str) -> bool:
    """Whether the API server gives a new object of this group the generation 1."""
    return group not in _WITHOUT_GENERATION
