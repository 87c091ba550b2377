"""The index entries of an object, made of its links: what the object declares once, written at both ends.

`docs/reference/documents.md` lists the fields of links with their entries. `rego/bridge/index/entries.rego` makes the
same entries of the objects that a query changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from sys import intern
from typing import Any, NamedTuple

import msgspec

from bridge.replicator.skeleton import Path

Entries = list[tuple[Path, Any]]  # the path of an entry: the part of the index, then keys; and the value
NO_FACTS = b""
_Edge = tuple[str, str]  # the keys of parent and child
_CLUSTER = "-"  # the namespace of a cluster-scoped object in its key


class Links(NamedTuple):
    """What OPA stores of an object besides the object: its entries in the index, and its facts as JSON."""

    entries: Entries
    facts: bytes = NO_FACTS


NO_LINKS = Links([])


class _Stamped(msgspec.Struct):
    by: str = ""


def links_of(key: str, links: Mapping[str, Any]) -> Links:
    """Return what OPA stores of an object by the answer of the query `links` for it."""
    return Links(entries_of(key, links), msgspec.json.encode(links["facts"]) if "facts" in links else NO_FACTS)


def stamp_of(facts: bytes) -> str:
    """Return what facts were made from besides the object, as they state it; empty where that is nothing."""
    return msgspec.json.decode(facts, type=_Stamped).by if facts else ""


def entries_of(key: str, links: Mapping[str, Any]) -> Entries:
    """Return the entries of an object by the answer of the query `links` for it, one a path.

    `key` is the object's key. The keys in paths and values are interned, because many objects share them.
    """
    key = intern(key)
    edges = _edges(key, links)
    entries: dict[Path, Any] = {}
    for side, part in ((0, "children"), (1, "parents")):
        entries |= {(part, end): others for end, others in _by_end(edges, side).items()}
    extended = {(parent, child) for parent, child in links.get("extended", ())}
    entries |= {("extended", child): parents for child, parents in _by_end(extended, 1).items()}
    for member in links.get("members", ()):
        entries.setdefault(("members", intern(_namespace(member))), []).append(intern(member))
    entries |= dict.fromkeys(_served(links), True)
    entries |= dict.fromkeys(_claims(links), True)
    outer = {_namespace(end) for edge in edges for end in edge}
    if oversized := links.get("oversized"):
        entries |= {("oversized", intern(end)): oversized["message"] for end in oversized["objects"]}
    else:
        targets = links.get("targets", ())
        outer.update(map(_namespace, targets))
        entries |= dict.fromkeys(_targets(key, targets, links), True)
    entries |= {("referrers", intern(namespace)): True for namespace in outer - {_CLUSTER, _namespace(key)}}
    return list(entries.items())


def _edges(key: str, links: Mapping[str, Any]) -> set[_Edge]:
    edges = {(intern(parent), key) for parent in links.get("above", ())}
    edges.update((key, intern(child)) for child in links.get("below", ()))
    edges.update((intern(_whole(parent)), intern(child)) for parent, child in links.get("extended", ()))
    return edges


def _by_end(edges: Iterable[_Edge], side: int) -> dict[str, list[str]]:
    """Group the other ends, sorted, by the end at this side of the edges."""
    found: dict[str, list[str]] = {}
    for edge in sorted(edges):
        found.setdefault(intern(edge[side]), []).append(intern(edge[1 - side]))
    return found


def _served(links: Mapping[str, Any]) -> Iterator[Path]:
    if served := links.get("served"):
        for parent in links.get("above", ()):
            for hostname in served["hostnames"]:
                for path in served["paths"]:
                    yield "served", intern(parent), intern(hostname), intern(path)


def _claims(links: Mapping[str, Any]) -> Iterator[Path]:
    for port, slot in links.get("claims", ()):
        for parent in links.get("above", ()):
            yield "claims", intern(parent), intern(port), intern(slot)


def _targets(key: str, targets: Iterable[str], links: Mapping[str, Any]) -> Iterator[Path]:
    type_id = intern("/".join(key.split("/", 2)[:2]))
    for target in targets:
        yield "attached", type_id, intern(target)
        yield "targeted", intern(_whole(target))
    if links.get("classes"):
        yield "limited", type_id
    for selected, text in links.get("selectors", ()):
        yield "selectors", intern(_namespace(key)), intern(selected), text


def _namespace(key: str) -> str:
    return key.split("/", 3)[2]


def _whole(node: str) -> str:
    return node.partition("#")[0]
