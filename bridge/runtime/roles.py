"""Access as RBAC's objects: a ClusterRole, a Role for each namespace, and their bindings. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridge.model.access import Access

_GROUP = "rbac.authorization.k8s.io"
Rule = dict[str, Any]


def rules(access: Iterable[Access]) -> dict[str, list[Rule]]:
    """The rules by namespace, "" for those of a ClusterRole. What allows the same stands together."""
    verbs: dict[tuple[str, str, str, str], set[str]] = {}  # by namespace, group, name and resource
    for one in access:
        for name in one.names or ("",):
            verbs.setdefault((one.namespace, one.group, name, one.resource), set()).update(one.verbs)
    alike: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for (*place, resource), found in sorted(verbs.items()):
        namespace, group, name = place
        alike.setdefault((namespace, group, name, tuple(sorted(found))), []).append(resource)
    made: dict[str, list[Rule]] = {}
    for (namespace, group, name, allowed), resources in sorted(alike.items()):
        named = {"resourceNames": [name]} if name else {}
        made.setdefault(namespace, []).append(
            {"apiGroups": [group], "resources": resources, **named, "verbs": list(allowed)}
        )
    return made


def role_objects(access: Iterable[Access], name: str, service_account: tuple[str, str]) -> list[dict[str, Any]]:
    """The objects to apply, all called `name`. `service_account` is the bridge's, (namespace, name)."""
    subject = {"kind": "ServiceAccount", "namespace": service_account[0], "name": service_account[1]}
    made: list[dict[str, Any]] = []
    for namespace, allowed in rules(access).items():
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        version = {"apiVersion": f"{_GROUP}/v1"}
        reference = {"apiGroup": _GROUP, "kind": kind, "name": name}
        made.append({**version, "kind": kind, "metadata": metadata, "rules": allowed})
        made.append(
            {**version, "kind": f"{kind}Binding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}
        )
    return made
