"""The documents of views: parts of OPA's data from which queries have the results of all of it.

Rego decides what is in a view (the query `view`).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from bridge.model.keys import Key, namespace_in
from bridge.model.types import CONSTRAINT, POLICY_KIND
from bridge.model.views import View
from bridge.opa.client import Opa
from bridge.replicator.documents import FACTS, INDEX, INDEXES, OBJECTS, Path, links_of, place_of

_KINDS = ("kinds", "kind_sets")  # documents that every view has whole
DOCUMENTS = (OBJECTS, FACTS, INDEX, *_KINDS)
BELOW = "bridge_below"  # the document of a view that is not everything: the objects about which it has all
_ALWAYS = (CONSTRAINT, POLICY_KIND)  # types of which every view has all objects
_NAMESPACE = "core/Namespace"
_SERVICE = "core/Service/"
_GRANT = "gateway.networking.k8s.io/ReferenceGrant"
# The parts of the index whose entries name the other end of a link; other parts repeat these.
_ENDS = frozenset({"children", "parents", "extended", "targeted", "members", "oversized"})
_DEFAULT_GATEWAYS = "gateway.networking.k8s.io/Gateway/-/All"  # joins default Gateways and routes, and is not an object
_OF_SECTION = re.compile(r"[#@].*", re.DOTALL)

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
        [documents] = await opa.evaluate("; ".join(f"{name} = data.{name}" for name in DOCUMENTS), {})
        return Slice(documents, sum(1 for _ in _iterate_names(documents[OBJECTS])), None)
    found = await opa.query("view", input_of_view(view))
    marks = marks_of_view(view, found["roots"], found["keys"])
    if not found["roots"]:
        return Slice({}, 0, marks)
    return Slice(_arrange(found), len(found["objects"]), marks)


def input_of_view(view: View) -> dict[str, Any]:
    """Return the input of the queries about a view."""
    selector = {} if view.namespaces is None else {"namespaceSelector": msgspec.json.encode(view.namespaces).decode()}
    return {"roots": [] if view.root is None else [str(view.root)], "types": (*view.types, *_ALWAYS), **selector}


def _arrange(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documents of a result of the query `view`."""
    documents: dict[str, Any] = {OBJECTS: {}, FACTS: {}, INDEX: {name: {} for name in INDEXES}}
    for key, obj in found["objects"].items():
        put(documents[OBJECTS], tuple(key.split("/")), obj)
    for key, stored in found["links"].items():
        if "facts" in stored:
            put(documents[FACTS], tuple(key.split("/")), stored["facts"])
        for path, value in links_of(stored).entries:
            put(documents[INDEX], place_of(path, key), value)
    below = {"partial": True, "keys": dict.fromkeys(found["complete"], True)}
    return documents | {name: found[name] for name in _KINDS} | {BELOW: below}


def put(node: dict[str, Any], path: Path, value: Any) -> None:
    """Put a value at a path into a nested document."""
    for name in path[:-1]:
        node = node.setdefault(name, {})
    node[path[-1]] = value


def _iterate_names(objects: Mapping[str, Any]) -> Iterable[str]:
    for kinds in objects.values():
        for namespaces in kinds.values():
            for names in namespaces.values():
                yield from names


# A change concerns a view if they have a mark in common: an object of the view, the other end of a link that joins the
# object to it, a namespace from which policies select there, or a type that the view has whole.


def marks_of_view(view: View, roots: Iterable[str], keys: Iterable[str]) -> Marks:
    """Return the marks of a view with these roots that exist and these keys."""
    names = frozenset(keys) if view.root is None else frozenset((str(view.root), *keys))
    namespaces = {namespace_in(key) for key in names}
    selected = set() if view.namespaces is None else {_NAMESPACE, *(f"in {key.rpartition('/')[2]}" for key in roots)}
    return names | {
        *(view.types + _ALWAYS),
        *selected,
        _DEFAULT_GATEWAYS,
        "selects *",
        *(f"{how} {namespace}" for namespace in namespaces for how in ("selects", "grants")),
        # Routes of other Gateways to a Service do not join the view of a Gateway.
        *(f"above {key}" for key in names if view.root is None or not key.startswith(_SERVICE)),
    }


def marks_of_change(key: Key, paths: Iterable[Path]) -> Marks:
    """Return the marks of a changed object, which has or had these paths in the index."""
    marks = {str(key), key.type_id, f"in {key.namespace}"}
    if key.type_id == _GRANT:
        marks.add(f"grants {key.namespace}")
    for path in paths:
        if path[0] in _ENDS:
            end = _OF_SECTION.sub("", path[1])
            marks.add(f"above {end}" if path[0] == "parents" else end)
        elif path[0] == "selectors":
            marks.add(f"selects {path[1]}")
    return frozenset(marks)
