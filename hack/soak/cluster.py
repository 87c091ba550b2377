"""The API server's objects, by key, of every type that a bridge replicates in a soak."""

from __future__ import annotations

from bridge.kube.discovery import read_resources
from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS
from tests.controlplane.api import ApiServer
from tests.properties.small_world import GROUP, POLICY_KINDS, THING

SELECTED = ("core/ConfigMap", THING)  # replicated because of the setting `types`
TYPES = (*ALWAYS, *SELECTED, *(f"{GROUP}/{kind}" for kind in POLICY_KINDS))


class Places:
    """The API server's paths of the objects of TYPES, in its preferred version."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        preferred = {
            group["name"]: group["preferredVersion"]["version"]
            for group in api.get("/apis")["groups"]
            if any(type_id.startswith(f"{group['name']}/") for type_id in TYPES)
        }
        found = read_resources("core", "v1", api.get("/api/v1"))
        for group, version in preferred.items():
            found |= read_resources(group, version, api.get(f"/apis/{group}/{version}"))
        self._types = {type_id: found[type_id] for type_id in TYPES if type_id in found}

    def of(self, key: Key) -> str:
        """Return the path of one object."""
        type_ = self._types[key.type_id]
        namespace = f"/namespaces/{key.namespace}" if type_.namespaced else ""
        return f"{self._root(key.type_id)}{namespace}/{type_.plural}/{key.name}"

    def objects(self) -> dict[Key, Object]:
        """Return all objects. Blocks; raises OSError if the API server is unavailable."""
        found: dict[Key, Object] = {}
        for type_id, type_ in self._types.items():
            answer = self._api.get(f"{self._root(type_id)}/{type_.plural}")
            for item in answer["items"]:
                obj = {**item, "apiVersion": answer["apiVersion"], "kind": type_.kind}
                found[key_of(obj)] = obj
        return found

    def _root(self, type_id: str) -> str:
        type_ = self._types[type_id]
        return "/api/v1" if type_.group == "core" else f"/apis/{type_.group}/{type_.version}"
