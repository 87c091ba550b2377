"""Names for shell completion: kinds, namespaces, objects and their sections.

They come from the source of the command. Without a running OPA a single query is evaluated, by the few rules that it
reaches: a sync of an OPA would take longer than users wait for completion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bridge.model.changes import Object
from bridge.model.keys import CLUSTER, Key, key_of, parse_key
from bridge.model.types import ALWAYS, CRD, POLICY_KIND, ResourceType
from bridge.opa.errors import OpaError
from bridge.opa.evaluation import evaluate

if TYPE_CHECKING:
    from bridge.kube.kube_client import KubeClient
    from bridge.opa.client import Opa

_MANY = 500  # objects of a kind from a cluster
_ANSWER = 2.0  # seconds
_LABEL = "gateway.networking.k8s.io/policy"  # of CRDs that may make policy kinds; Rego decides which do
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Stock(ABC):
    """The names in a source. Each is looked up when it is asked for: a completion needs few of them."""

    @abstractmethod
    async def types(self) -> Mapping[str, Sequence[str]]:
        """Return all kinds (`<group>/<Kind>`) with the names in their CRDs."""

    @abstractmethod
    async def policies(self) -> frozenset[str]:
        """Return the policy kinds."""

    @abstractmethod
    async def keys(self, type_ids: Sequence[str]) -> list[Key]:
        """Return the objects of types."""

    @abstractmethod
    async def sections(self, key: Key) -> list[Key]:
        """Return the keys of an object's sections."""


class _StockOfOpa(Stock):
    def __init__(self, opa: Opa) -> None:
        self._opa = opa
        self._types: Mapping[str, Any] | None = None

    async def _described(self) -> Mapping[str, Any]:
        if self._types is None:
            self._types = await self._opa.query("types", {})
        return self._types

    async def types(self) -> Mapping[str, Sequence[str]]:
        return {name: about["names"] for name, about in (await self._described()).items()}

    async def policies(self) -> frozenset[str]:
        return frozenset(name for name, about in (await self._described()).items() if about["policy"])

    async def keys(self, type_ids: Sequence[str]) -> list[Key]:
        return [parse_key(text) for text in await self._opa.query("names", {"types": list(type_ids)})]

    async def sections(self, key: Key) -> list[Key]:
        return _sections_in(key, await self._opa.query("names", _named(key)))


class _StockOfManifests(Stock):
    def __init__(self, objects: Sequence[Object]) -> None:
        self._by_key = {key_of(obj): obj for obj in objects}
        self._describing = [obj for obj in objects if _find_type(obj) in {CRD, POLICY_KIND}]
        names = {
            f"{crd['spec']['group']}/{crd['spec']['names']['kind']}": _list_names(crd["spec"]["names"])
            for crd in self._describing
            if _find_type(crd) == CRD
        }
        self._types = names | {key.type_id: names.get(key.type_id, ()) for key in self._by_key}
        self._policies: frozenset[str] | None = None

    async def types(self) -> Mapping[str, Sequence[str]]:
        return self._types

    async def policies(self) -> frozenset[str]:
        if self._policies is None:
            self._policies = await _policy_types(self._describing) & self._types.keys()
        return self._policies

    async def keys(self, type_ids: Sequence[str]) -> list[Key]:
        return sorted(key for key in self._by_key if key.type_id in type_ids)

    async def sections(self, key: Key) -> list[Key]:
        return await _list_sections(key, self._by_key[key])


class _StockOfCluster(Stock):
    def __init__(self, client: KubeClient, types: Mapping[str, ResourceType]) -> None:
        self._client = client
        self._types = types
        self._policies: frozenset[str] | None = None

    async def types(self) -> Mapping[str, Sequence[str]]:
        wanted = {*ALWAYS, *await self.policies()}
        return {name: (kind.plural,) for name, kind in self._types.items() if name in wanted}

    async def policies(self) -> frozenset[str]:
        if self._policies is None:
            labelled = await self._list(CRD, _METADATA, labelSelector=_LABEL)
            labels = {crd["metadata"]["name"]: crd["metadata"].get("labels", {}) for crd in labelled}
            crds = [_outline(kind, labels[kind.name]) for kind in self._types.values() if labels.get(kind.name)]
            described = await _policy_types([*crds, *await self._list(POLICY_KIND, "application/json")])
            self._policies = described & self._types.keys()
        return self._policies

    async def keys(self, type_ids: Sequence[str]) -> list[Key]:
        found: list[Key] = []
        for name in type_ids:
            found += [_read_key(self._types[name], obj["metadata"]) for obj in await self._list(name, _METADATA)]
        return found

    async def sections(self, key: Key) -> list[Key]:
        path = self._types[key.type_id].object_path(key.namespace, key.name)
        return await _list_sections(key, await self._client.get(path))

    async def _list(self, type_id: str, accept: str, **parameters: str) -> list[Any]:
        if type_id not in self._types:
            return []
        answer = await self._client.get(self._types[type_id].path, {"limit": str(_MANY), **parameters}, accept=accept)
        return list(answer["items"])


@asynccontextmanager
async def stock_of_opa(url: str, token: str | None) -> AsyncIterator[Stock]:
    """Return the names in an OPA. Raises OpaError."""
    from bridge.opa.client import Opa

    async with Opa(url, token=token, timeout=_ANSWER) as opa:
        yield _StockOfOpa(opa)


@asynccontextmanager
async def stock_of_manifests(paths: Sequence[str]) -> AsyncIterator[Stock]:
    """Return the names in manifests. Raises ManifestError."""
    from bridge.sources.manifests import ManifestSource

    yield _StockOfManifests(ManifestSource(paths, follow=False).load())


@asynccontextmanager
async def stock_of_cluster(kubeconfig: str | None, context: str | None) -> AsyncIterator[Stock]:
    """Return the names in a cluster, up to 500 of a kind. Raises KubeError."""
    from bridge.kube.discovery import Discovery
    from bridge.kube.kube_client import KubeClient

    async with await KubeClient.connect(kubeconfig, context) as client:
        discovery = Discovery(client)
        await discovery.refresh()
        yield _StockOfCluster(client, discovery.types)


def _read_key(kind: ResourceType, metadata: Mapping[str, Any]) -> Key:
    return Key(kind.group, kind.kind, metadata.get("namespace") or CLUSTER, metadata["name"])


def _find_type(obj: Object) -> str:
    return key_of(obj).type_id


def _list_names(names: Mapping[str, Any]) -> tuple[str, ...]:
    return (names["plural"], names.get("singular") or names["plural"], *names.get("shortNames", ()))


def _outline(kind: ResourceType, labels: Mapping[str, str]) -> Object:
    """Return what is known of a CRD without reading it: its schema may have megabytes."""
    versions = [{"name": kind.version, "served": True}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name, "labels": labels},
        "spec": {"group": kind.group, "names": {"kind": kind.kind, "plural": kind.plural}, "versions": versions},
    }


async def _policy_types(definitions: Sequence[Object]) -> frozenset[str]:
    """Return the types of policies by these CRDs, PolicyKinds and presets; none before this machine has `opa`."""
    try:
        return frozenset(await evaluate("policy_types", {"changes": {"upsert": definitions}}))
    except OpaError:
        return frozenset()


async def _list_sections(key: Key, obj: Object) -> list[Key]:
    try:
        return _sections_in(key, await evaluate("names", {**_named(key), "changes": {"upsert": [obj]}}))
    except OpaError:
        return []


def _named(key: Key) -> dict[str, Any]:
    return {"types": [key.type_id], "name": key.name, "sections": True}


def _sections_in(key: Key, names: Iterable[str]) -> list[Key]:
    return [one for one in map(parse_key, names) if one.section and one.object == key]
