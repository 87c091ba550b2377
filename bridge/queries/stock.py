"""Names for shell completion: kinds, namespaces, objects and their sections.

They come from the source of the command, without rules and without an OPA, which would take longer than users wait for
completion.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import CLUSTER, CORE, Key, key_of, parse_key
from bridge.model.types import ALWAYS, CRD, POLICY_KIND, ResourceType

_LABEL = "gateway.networking.k8s.io/policy"  # of a CRD that makes a policy kind
_MANY = 500  # objects of a kind from a cluster
_ANSWER = 2.0  # seconds
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Stock:
    """`types` are all kinds (`<group>/<Kind>`) with the names in their CRDs, `policies` the policy kinds.

    `keys` returns the objects of types, `sections` the keys of an object's sections.
    """

    types: Mapping[str, Sequence[str]]
    policies: frozenset[str]
    keys: Callable[[Sequence[str]], Awaitable[list[Key]]]
    sections: Callable[[Key], Awaitable[list[Key]]]


@asynccontextmanager
async def stock_of_opa(url: str, token: str | None) -> AsyncIterator[Stock]:
    """Return the names in an OPA. Raises OpaError."""
    from bridge.opa.client import Opa

    async with Opa(url, token=token, timeout=_ANSWER) as opa:
        types = await opa.query("types", {})

        async def keys(type_ids: Sequence[str]) -> list[Key]:
            return [parse_key(text) for text in await opa.query("names", {"types": list(type_ids)})]

        async def sections(key: Key) -> list[Key]:
            query_input = {"types": [key.type_id], "name": key.name, "sections": True}
            found = [parse_key(text) for text in await opa.query("names", query_input)]
            return [one for one in found if one.section and one.object == key]

        yield Stock(
            {name: about["names"] for name, about in types.items()},
            frozenset(name for name, about in types.items() if about["policy"]),
            keys,
            sections,
        )


@asynccontextmanager
async def stock_of_manifests(paths: Sequence[str]) -> AsyncIterator[Stock]:
    """Return the names in manifests. Raises ManifestError."""
    from bridge.sources.manifests import ManifestSource

    objects = ManifestSource(paths, follow=False).load()
    by_key = {key_of(obj): obj for obj in objects}
    crds = {f"{crd['spec']['group']}/{crd['spec']['names']['kind']}": crd for crd in objects if _find_type(crd) == CRD}
    names = {type_id: _list_names(crd["spec"]["names"]) for type_id, crd in crds.items()}
    labelled = {type_id for type_id, crd in crds.items() if _LABEL in (crd["metadata"].get("labels") or {})}
    described = (obj for obj in objects if _find_type(obj) == POLICY_KIND)

    async def keys(type_ids: Sequence[str]) -> list[Key]:
        return sorted(key for key in by_key if key.type_id in type_ids)

    async def sections(key: Key) -> list[Key]:
        return list(_list_sections(key, by_key.get(key, {})))

    types = {key.type_id: names.get(key.type_id, ()) for key in by_key}
    yield Stock(names | types, frozenset(labelled | _find_described(described)), keys, sections)


@asynccontextmanager
async def stock_of_cluster(kubeconfig: str | None, context: str | None) -> AsyncIterator[Stock]:
    """Return the names in a cluster, up to 500 of a kind. Raises KubeError."""
    from bridge.kube.client import KubeClient
    from bridge.kube.discovery import Discovery

    async with await KubeClient.connect(kubeconfig, context) as client:
        discovery = Discovery(client)
        await discovery.refresh()
        types = discovery.types

        async def listed(type_id: str, accept: str, **params: str) -> list[Any]:
            if type_id not in types:
                return []
            answer = await client.get(types[type_id].path, {"limit": str(_MANY), **params}, accept=accept)
            return list(answer["items"])

        async def keys(type_ids: Sequence[str]) -> list[Key]:
            return [
                _read_key(types[name], obj["metadata"]) for name in type_ids for obj in await listed(name, _METADATA)
            ]

        async def sections(key: Key) -> list[Key]:
            path = types[key.type_id].object_path(key.namespace, key.name)
            return list(_list_sections(key, await client.get(path)))

        labelled = {crd["metadata"]["name"] for crd in await listed(CRD, _METADATA, labelSelector=_LABEL)}
        policies = {name for name, kind in types.items() if f"{kind.plural}.{kind.group}" in labelled}
        policies |= _find_described(await listed(POLICY_KIND, "application/json"))
        known = {name: (kind.plural,) for name, kind in types.items() if name in {*ALWAYS, *policies}}
        yield Stock(known, frozenset(policies & set(types)), keys, sections)


def _read_key(kind: ResourceType, metadata: Mapping[str, Any]) -> Key:
    return Key(kind.group, kind.kind, metadata.get("namespace") or CLUSTER, metadata["name"])


def _find_type(obj: Object) -> str:
    return key_of(obj).type_id


def _list_names(names: Mapping[str, Any]) -> tuple[str, ...]:
    return (names["plural"], names.get("singular") or names["plural"], *names.get("shortNames", ()))


def _find_described(kinds: Iterable[Object]) -> set[str]:
    specs = (kind.get("spec") for kind in kinds)
    return {
        f"{spec.get('group') or CORE}/{spec['kind']}" for spec in specs if isinstance(spec, dict) and "kind" in spec
    }


def _list_sections(key: Key, obj: Object) -> Iterable[Key]:
    """Return the named sections; the rules decide which of these are on a path."""
    spec = obj.get("spec")
    for field in ("listeners", "rules", "ports"):
        parts = spec.get(field) if isinstance(spec, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("name"):
                yield Key(key.group, key.kind, key.namespace, key.name, part["name"])
