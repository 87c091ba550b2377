"""The schemas that ship: of Gateway API and vendors in schemas.json (`hack.tools.fields` writes it), of Services."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from bridge.model.keys import CORE

FILE = "schemas.json"

Schema = Mapping[str, Any]

# The fields of Services that decide what requests and policies reach (Kubernetes API reference, ServiceSpec). Services
# have no CRD, and a wrong type there would vanish.
_SERVICE: Schema = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]},
                "externalName": {"type": "string"},
                "selector": {"type": "object", "additionalProperties": {"type": "string"}},
                "ports": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "name": {"type": "string"},
                            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                            "protocol": {"type": "string", "enum": ["SCTP", "TCP", "UDP"]},
                            "appProtocol": {"type": "string"},
                            "targetPort": {"x-kubernetes-int-or-string": True},
                        },
                    },
                },
            },
        }
    },
}
_OF_KUBERNETES: Mapping[str, Mapping[str, Schema]] = {f"{CORE}/Service": {"v1": _SERVICE}}


@cache
def shipped_versions(type_id: str) -> Mapping[str, Any]:
    """Return the schemas that ship of a kind, by version; in place of one the version that has the same."""
    if type_id in _OF_KUBERNETES:
        return _OF_KUBERNETES[type_id]
    raw = _read_shipped().get(type_id)
    found: Mapping[str, Any] = msgspec.json.decode(raw) if raw else {}
    return found


def shipped_schema(type_id: str, version: str) -> Schema | None:
    """Return the schema that ships of a version of a kind; None if none does."""
    versions = shipped_versions(type_id)
    found = versions.get(version)
    return versions[found] if isinstance(found, str) else found


@cache
def _read_shipped() -> dict[str, msgspec.Raw]:
    content = resources.files("bridge.sources").joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=dict[str, msgspec.Raw])
