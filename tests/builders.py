"""Kubernetes objects for tests: what they have in common is written once, and each test gives what it is about."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bridge.model.changes import Object

GATEWAY_API = "gateway.networking.k8s.io"
NAMESPACE = "shop"


def resource(api_version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    """An object of any type; `metadata` in `rest` is added to its name and namespace."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **rest.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def service(name: str, namespace: str = NAMESPACE, **rest: Any) -> Object:
    """A Service."""
    return resource("v1", "Service", name, namespace, **rest)


def config_map(name: str, data: Mapping[str, str], namespace: str = "test") -> Object:
    """A ConfigMap."""
    return resource("v1", "ConfigMap", name, namespace, data=dict(data))


def gateway(name: str, namespace: str = NAMESPACE, *, ports: Iterable[int] = (80,)) -> Object:
    """A Gateway with an HTTP listener `http-<port>` for each port."""
    listeners = [{"name": f"http-{port}", "port": port, "protocol": "HTTP"} for port in ports]
    spec = {"gatewayClassName": "main", "listeners": listeners}
    return resource(f"{GATEWAY_API}/v1", "Gateway", name, namespace, spec=spec)


def http_route(
    name: str,
    namespace: str = NAMESPACE,
    *,
    parents: Iterable[str] = ("public",),
    rules: Sequence[Object] = ({"name": "all"},),
    **rest: Any,
) -> Object:
    """An HTTPRoute below Gateways of its namespace; `spec` in `rest` adds fields."""
    spec = {"parentRefs": [{"name": parent} for parent in parents], "rules": list(rules), **rest.pop("spec", {})}
    return resource(f"{GATEWAY_API}/v1", "HTTPRoute", name, namespace, spec=spec, **rest)


def backends(*names: str, port: int | None = 80) -> Object:
    """The fields of a rule whose requests go to Services."""
    return {"backendRefs": [{"name": name, **({"port": port} if port else {})} for name in names]}


def target_ref(kind: str, name: str, section: str = "", group: str = GATEWAY_API) -> Object:
    """A policy's reference to its target; a Service and a Namespace are of the core group."""
    core = kind in {"Service", "Namespace"}
    return {"group": "" if core else group, "kind": kind, "name": name, **({"sectionName": section} if section else {})}


def policy_kind(kind: str, group: str = "test.example.com", **spec: Any) -> Object:
    """A PolicyKind by the kind's name; the fields of its spec."""
    fields = {"group": group, "kind": kind, **spec}
    return resource("policybridge.io/v1alpha1", "PolicyKind", kind.lower(), spec=fields)


def policy(
    kind: str,
    name: str,
    targets: Iterable[Object],
    namespace: str = NAMESPACE,
    *,
    group: str = "test.example.com",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A policy with these targetRefs, and the fields of its spec."""
    fields = {"targetRefs": list(targets), **spec}
    return resource(f"{group}/v1", kind, name, namespace, metadata=metadata or {}, spec=fields)
