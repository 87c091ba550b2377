"""The documents of views: parts of OPA's data from which queries have the results of all of it.

Rego decides what is in a view (the query `view`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from bridge.model.types import CONSTRAINT, POLICY_KIND
from bridge.model.views import View
from bridge.opa.client import Opa
from bridge.opa.errors import OpaIncomplete
from bridge.replicator.documents import FACTS, INDEX, INDEXES, OBJECTS, Path, links_of, place_of

_KINDS = ("kinds", "kind_sets")  # documents that every view has whole
DOCUMENTS = (OBJECTS, FACTS, INDEX, *_KINDS)
BELOW = "bridge_below"  # the document of a view that is not everything: the objects about which it has all
_ALWAYS = (CONSTRAINT, POLICY_KIND)  # types of which every view has all objects

Marks = frozenset[str]


class Slice(NamedTuple):
    """The documents of a view by name, the number of its objects, and the marks of changes that concern it.

    A view without objects selects nothing. If `marks` is None, every change concerns the view.
    """

    documents: Mapping[str, Any]
    objects: int
    marks: Marks | None


async def query_slice(opa: Opa, view: View) -> Slice:
    """Return the content of a view, all of it of one state of OPA. Raises OpaError."""
    if not view.has_data:
        return Slice({}, 0, frozenset())
    if view.is_whole:
        documents = await evaluate_documents(opa, "; ".join(f"{name} = data.{name}" for name in DOCUMENTS))
        return Slice(documents, sum(1 for _ in _iterate_names(documents[OBJECTS])), None)
    found = await opa.query("view", input_of_view(view))
    marks = frozenset(found["marks"])
    if not found["roots"]:
        return Slice({}, 0, marks)
    return Slice(_arrange(found), len(found["objects"]), marks)


async def evaluate_documents(opa: Opa, query: str) -> dict[str, Any]:
    """Return the only result of a Rego query about documents that a synced OPA has. Raises OpaError."""
    found = await opa.evaluate(query, {})
    if not found:
        raise OpaIncomplete("OPA lacks the bridge's documents: it was emptied")
    return found[0]


def input_of_view(view: View) -> dict[str, Any]:
    """Return the input of the queries about a view."""
    selector = {} if view.namespaces is None else {"namespaceSelector": msgspec.json.encode(view.namespaces).decode()}
    return {"roots": [] if view.root is None else [str(view.root)], "types": (*view.types, *_ALWAYS), **selector}


def _arrange(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documents of a result of the query `view`."""
    documents: dict[str, Any] = {OBJECTS: {}, FACTS: {}, INDEX: {name: {} for name in INDEXES}}
    for key, obj in found["objects"].items():
        set_at(documents[OBJECTS], tuple(key.split("/")), obj)
    for key, stored in found["links"].items():
        if "facts" in stored:
            set_at(documents[FACTS], tuple(key.split("/")), stored["facts"])
        for path, value in links_of(stored).entries:
            set_at(documents[INDEX], place_of(path, key), value)
    below = {"partial": True, "keys": dict.fromkeys(found["complete"], True)}
    return documents | {name: found[name] for name in _KINDS} | {BELOW: below}


def set_at(node: dict[str, Any], path: Path, value: Any) -> None:
    """Put a value at a path into a nested document."""
    for name in path[:-1]:
        node = node.setdefault(name, {})
    node[path[-1]] = value


def _iterate_names(objects: Mapping[str, Any]) -> Iterable[str]:
    for kinds in objects.values():
        for namespaces in kinds.values():
            for names in namespaces.values():
                yield from names
