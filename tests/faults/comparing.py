"""OPA compared with where its objects come from, object by object, and its index with the links of each."""

from collections.abc import Iterable
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.opa.client import Opa
from bridge.replicator.documents import INDEXES, links_of, place_of
from bridge.sources.pruning import prune


async def differences(opa: Opa, objects: Iterable[Object]) -> list[str]:
    """What OPA lacks, has too much, or has otherwise; empty when it holds exactly these objects with their links."""
    wanted = {str(key_of(obj)): prune(obj) for obj in objects}
    found = held(await opa.get("objects") or {})
    reported = [f"lacks {key}" for key in sorted(wanted.keys() - found.keys())]
    reported += [f"still has {key}" for key in sorted(found.keys() - wanted.keys())]
    reported += [f"has another {key}" for key in sorted(wanted.keys() & found.keys()) if wanted[key] != found[key]]
    if not reported:
        has, wants = _leaves(await opa.get("index")), _leaves(await index_of(opa, found.values()))
        reported += [
            f"index {' '.join(path)} is {has.get(path)}, not {wants.get(path)}"
            for path in sorted(has.keys() | wants.keys())
            if has.get(path) != wants.get(path)
        ]
    return reported


def _leaves(index: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """A document by the paths of its values that are not mappings, or are empty ones."""
    if not isinstance(index, dict) or not index:
        return {above: index}
    return {path: leaf for name, below in index.items() for path, leaf in _leaves(below, (*above, name)).items()}


def held(groups: dict[str, Any]) -> dict[str, Object]:
    """The document `objects`, by key."""
    return {
        f"{group}/{kind}/{namespace}/{name}": obj
        for group, kinds in groups.items()
        for kind, namespaces in kinds.items()
        for namespace, named in namespaces.items()
        for name, obj in named.items()
    }


def declared_ends(links: dict[str, Any]) -> dict[str, set[str]]:
    """Return the keys with entries in `index.parents` or `index.children`, by the object that declares them."""
    found: dict[str, set[str]] = {}
    for home in links.values():
        for end, by_home in home.items():
            for declarers in by_home.values():
                for declarer in declarers:
                    found.setdefault(declarer, set()).add(end)
    return found


async def index_of(opa: Opa, objects: Iterable[Object]) -> dict[str, Any]:
    """The index that belongs to objects."""
    index: dict[str, Any] = {name: {} for name in INDEXES}
    for key, links in (await opa.query("links", {"objects": list(objects)})).items():
        for path, value in links_of(links).entries:
            *above, last = place_of(path, key)
            part = index
            for name in above:
                part = part.setdefault(name, {})
            part[last] = value
    return index
