"""The requested part of the picture: all of a small one, the top of a large one, or the matches of filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.model.keys import parse_key
from bridge.web.picture import PagePicture

LIMIT = 400  # nodes of a response by default
MOST = 50_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request: at most `limit` nodes, below one node, or those that match the filters, and all nodes above."""

    limit: int = LIMIT
    below: str = ""
    offset: int = 0
    namespaces: Sequence[str] = ()
    kinds: Sequence[str] = ()
    policy_kinds: Sequence[str] = ()
    name: str = ""

    @property
    def searches(self) -> bool:
        """Return whether the request has filters."""
        return bool(self.namespaces or self.kinds or self.policy_kinds or self.name)


def chosen(picture: PagePicture, wanted: Wanted) -> list[str]:
    """Return the keys of the nodes to return. A node has all its children or, if there are too many, none."""
    if wanted.searches:
        return _with_all_above(picture, sorted(_found(picture, wanted))[wanted.offset :][: wanted.limit])
    if wanted.below:
        first = picture.children(wanted.below)[wanted.offset :][: wanted.limit]
        return _expanded(picture, [child for child in first if picture.told(child)], wanted.limit)
    return _expanded(picture, picture.roots()[wanted.offset :][: wanted.limit], wanted.limit)


def unattached(picture: PagePicture, policies: Mapping[str, Any]) -> list[str]:
    """Return the policies at no node."""
    return sorted(policies.keys() - picture.counts.policies.keys())


def _expanded(picture: PagePicture, first: Iterable[str], limit: int) -> list[str]:
    told = dict.fromkeys(first)
    upcoming = list(told)
    for key in upcoming:  # it grows
        further = [child for child in picture.children(key) if child not in told]
        if len(told) + len(further) <= limit:
            told.update(dict.fromkeys(further))
            upcoming += further
    return list(told)


def _found(picture: PagePicture, wanted: Wanted) -> Iterable[str]:
    name = wanted.name.lower()
    for key in picture.shown():
        parts = parse_key(key)
        if (
            (not wanted.namespaces or parts.namespace in wanted.namespaces)
            and (not wanted.kinds or parts.type_id in wanted.kinds or parts.kind in wanted.kinds)
            and (not name or name in f"{parts.name}#{parts.section}".lower())
            and (not wanted.policy_kinds or _policy_kinds(picture, key).intersection(wanted.policy_kinds))
        ):
            yield key


def _policy_kinds(picture: PagePicture, key: str) -> set[str]:
    return {parse_key(policy).type_id for policy in picture.policies_at(key)}


def _with_all_above(picture: PagePicture, keys: Iterable[str]) -> list[str]:
    told = dict.fromkeys(keys)
    upcoming = list(told)
    for key in upcoming:  # it grows
        above = [parent for parent in picture.parents(key) if parent not in told]
        told.update(dict.fromkeys(above))
        upcoming += above
    return list(told)
