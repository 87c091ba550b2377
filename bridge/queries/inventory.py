"""Objects of the hierarchy for lists, with the policies at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridge.model.keys import Key, parse_key
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.queries.asking import BATCH, Entry, objects

GATEWAY = "gateway.networking.k8s.io/Gateway"


async def listed_objects(opa: Opa, keys: Sequence[Key]) -> list[Entry]:
    """Return objects with policies: `{object, created, labels, details, policies: [{policy, at, accepted, reason?}]}`.

    `details` depends on the kind, like kubectl's and gwctl's columns. `at` is the object or section that a policy
    names. A Gateway also has `routes`, the number of routes that its listeners accept.
    """
    held = await objects(opa, keys)
    found = []
    for batch in batches([key for key in keys if key in held], BATCH):
        pictures = await opa.query("picture", {"objects": [str(key) for key in batch]})
        for key in batch:
            obj = held[key]
            metadata = obj["metadata"]
            entry: Entry = {
                "object": str(key),
                "created": metadata.get("creationTimestamp"),
                "labels": _mapping(metadata.get("labels")),
                "details": _details(key, obj),
                "policies": policies_at(pictures.get(str(key), {})),
            }
            if key.type_id == GATEWAY:
                entry["routes"] = await _routes_of(opa, key)
            found.append(entry)
    return found


def policies_at(picture: Mapping[str, Any]) -> list[Entry]:
    """Return the policies of an entry of the query `picture`, each with the node that it names."""
    return [
        {"policy": policy["policy"], "at": node}
        | {name: policy[name] for name in ("accepted", "reason") if name in policy}
        for node, about in sorted(picture.get("nodes", {}).items())
        for policy in about["policies"]
    ]


async def _routes_of(opa: Opa, gateway: Key) -> int:
    below = await opa.query("tree", {"root": str(gateway), "depth": 1})
    routes = {child for node in below["nodes"].values() for child in node["children"]}
    return sum(1 for child in routes if parse_key(child).kind.endswith("Route"))


def _details(key: Key, obj: Mapping[str, Any]) -> dict[str, str]:
    """Return kubectl's columns for an object. Values of another type than the API requires are omitted."""
    spec, status = _mapping(obj.get("spec")), _mapping(obj.get("status"))
    if key.type_id == GATEWAY:
        addresses = [_text(one.get("value")) for one in _mappings(status.get("addresses"))]
        return {
            "CLASS": _text(spec.get("gatewayClassName")),
            "ADDRESSES": ",".join(addresses),
            "PORTS": ",".join(dict.fromkeys(_text(one.get("port")) for one in _mappings(spec.get("listeners")))),
            "PROGRAMMED": _condition(status, "Programmed"),
        }
    if key.kind == "GatewayClass":
        return {"CONTROLLER": _text(spec.get("controllerName")), "ACCEPTED": _condition(status, "Accepted")}
    if key.kind.endswith("Route"):
        hostnames = spec.get("hostnames")
        return {
            "HOSTNAMES": ",".join(map(_text, hostnames)) if isinstance(hostnames, list) else "",
            "PARENTS": ",".join(_parent(one) for one in _mappings(spec.get("parentRefs"))),
        }
    if key.type_id == "core/Service":
        ports = [
            f"{_text(one.get('port'))}/{_text(one.get('protocol', 'TCP'))}" for one in _mappings(spec.get("ports"))
        ]
        return {"TYPE": _text(spec.get("type", "ClusterIP")), "PORTS": ",".join(ports)}
    return {}


def _parent(ref: Mapping[str, Any]) -> str:
    type_id = f"{ref.get('group', 'gateway.networking.k8s.io')}/{ref.get('kind', 'Gateway')}"
    kind = "" if type_id == GATEWAY else f"{_text(ref.get('kind'))}/"
    namespace = f"{_text(ref['namespace'])}/" if ref.get("namespace") else ""
    section = f"#{_text(ref['sectionName'])}" if ref.get("sectionName") else ""
    return f"{kind}{namespace}{_text(ref.get('name'))}{section}"


def _condition(status: Mapping[str, Any], type_: str) -> str:
    found = [_text(one.get("status")) for one in _mappings(status.get("conditions")) if one.get("type") == type_]
    return found[0] if found else "Unknown"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return "" if value is None else str(value)
