"""Names for shell completion: kinds, namespaces, objects and their sections.

They come from the source of the command. Without a running OPA a single query is evaluated, by the few rules that it
reaches: a sync of an OPA would take longer than users wait for completion.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from bridge.model.changes import Object
from bridge.model.keys import CLUSTER, Key, key_of, parse_key
from bridge.model.types import ALWAYS, CRD, POLICY_KIND, ResourceType
from bridge.opa.errors import OpaError
from bridge.opa.evaluation import evaluate

_MANY = 500  # objects of a kind from a cluster
_ANSWER = 2.0  # seconds
_LABEL = "gateway.networking.k8s.io/policy"  # of CRDs that may make policy kinds; Rego decides which do
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Stock:
    """`types` returns all kinds (`<group>/<Kind>`) with the names in their CRDs, `policies` the policy kinds.

    `keys` returns the objects of types, `sections` the keys of an object's sections. Each is looked up when it is asked
    for: a completion needs few of them.
    """

    types: Callable[[], Awaitable[Mapping[str, Sequence[str]]]]
    policies: Callable[[], Awaitable[frozenset[str]]]
    keys: Callable[[Sequence[str]], Awaitable[list[Key]]]
    sections: Callable[[Key], Awaitable[list[Key]]]


@asynccontextmanager
async def stock_of_opa(url: str, token: str | None) -> AsyncIterator[Stock]:
    """Return the names in an OPA. Raises OpaError."""
    from bridge.opa.client import Opa

    async with Opa(url, token=token, timeout=_ANSWER) as opa:
        types = _once(lambda: opa.query("types", {}))

        async def kinds() -> Mapping[str, Sequence[str]]:
            return {name: about["names"] for name, about in (await types()).items()}

        async def policies() -> frozenset[str]:
            return frozenset(name for name, about in (await types()).items() if about["policy"])

        async def keys(type_ids: Sequence[str]) -> list[Key]:
            return [parse_key(text) for text in await opa.query("names", {"types": list(type_ids)})]

        async def sections(key: Key) -> list[Key]:
            return _sections_in(key, await opa.query("names", _named(key)))

        yield Stock(kinds, policies, keys, sections)


@asynccontextmanager
async def stock_of_manifests(paths: Sequence[str]) -> AsyncIterator[Stock]:
    """Return the names in manifests. Raises ManifestError."""
    from bridge.sources.manifests import ManifestSource

    objects = ManifestSource(paths, follow=False).load()
    by_key = {key_of(obj): obj for obj in objects}
    crds = {f"{crd['spec']['group']}/{crd['spec']['names']['kind']}": crd for crd in objects if _find_type(crd) == CRD}
    names = {type_id: _list_names(crd["spec"]["names"]) for type_id, crd in crds.items()}
    types = names | {key.type_id: names.get(key.type_id, ()) for key in by_key}

    async def kinds() -> Mapping[str, Sequence[str]]:
        return types

    async def policies() -> frozenset[str]:
        return await _policy_types([obj for obj in objects if _find_type(obj) in {CRD, POLICY_KIND}]) & types.keys()

    async def keys(type_ids: Sequence[str]) -> list[Key]:
        return sorted(key for key in by_key if key.type_id in type_ids)

    async def sections(key: Key) -> list[Key]:
        return await _list_sections(key, by_key[key])

    yield Stock(kinds, _once(policies), keys, sections)


@asynccontextmanager
async def stock_of_cluster(kubeconfig: str | None, context: str | None) -> AsyncIterator[Stock]:
    """Return the names in a cluster, up to 500 of a kind. Raises KubeError."""
    from bridge.kube.discovery import Discovery
    from bridge.kube.kube_client import KubeClient

    async with await KubeClient.connect(kubeconfig, context) as client:
        discovery = Discovery(client)
        await discovery.refresh()
        types = discovery.types

        async def listed(type_id: str, accept: str, **parameters: str) -> list[Any]:
            if type_id not in types:
                return []
            answer = await client.get(types[type_id].path, {"limit": str(_MANY), **parameters}, accept=accept)
            return list(answer["items"])

        async def keys(type_ids: Sequence[str]) -> list[Key]:
            return [
                _read_key(types[name], obj["metadata"]) for name in type_ids for obj in await listed(name, _METADATA)
            ]

        async def sections(key: Key) -> list[Key]:
            path = types[key.type_id].object_path(key.namespace, key.name)
            return await _list_sections(key, await client.get(path))

        async def find_policies() -> frozenset[str]:
            labelled = await listed(CRD, _METADATA, labelSelector=_LABEL)
            labels = {crd["metadata"]["name"]: crd["metadata"].get("labels", {}) for crd in labelled}
            crds = [_outline(kind, labels[kind.name]) for kind in types.values() if labels.get(kind.name)]
            return await _policy_types([*crds, *await listed(POLICY_KIND, "application/json")]) & types.keys()

        policies = _once(find_policies)

        async def kinds() -> Mapping[str, Sequence[str]]:
            wanted = {*ALWAYS, *await policies()}
            return {name: (kind.plural,) for name, kind in types.items() if name in wanted}

        yield Stock(kinds, policies, keys, sections)


def _once(look: Callable[[], Awaitable[_Found]]) -> Callable[[], Awaitable[_Found]]:
    """Return a function that looks at its first call, and returns the same later."""
    found: list[_Found] = []

    async def looked() -> _Found:
        if not found:
            found.append(await look())
        return found[0]

    return looked


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
