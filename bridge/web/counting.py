"""The number of shown nodes, and the values of filters among them, counted object by object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridge.model.keys import CLUSTER, parse_key


class Counts:
    """Counts of the shown nodes of each object; a change costs the object that it affects."""

    def __init__(self) -> None:
        self.nodes = 0
        self.policies: Counter[str] = Counter()  # the number of nodes of each policy
        self._namespaces: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._policy_kinds: Counter[str] = Counter()
        self._undescribed: Counter[str] = Counter()
        self._counted: dict[str, tuple[int, tuple[tuple[str, bool], ...]]] = {}  # nodes and policies, by object

    @property
    def facets(self) -> dict[str, list[str]]:
        """Return the values of filters: the namespaces and kinds of all nodes, and the kinds of their policies.

        `undescribed` are those of `policyKinds` that no policy kind describes.
        """
        return {
            "namespaces": sorted(self._namespaces),
            "kinds": sorted(self._kinds),
            "policyKinds": sorted(self._policy_kinds),
            "undescribed": sorted(self._undescribed),
        }

    def put(self, object_key: str, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Count an object with its shown nodes, none if it is not shown (anymore)."""
        was = self._counted.pop(object_key, None)
        now = (len(nodes), tuple(_policies(nodes))) if nodes else None
        if now is not None:
            self._counted[object_key] = now
        if was != now:
            self._add(object_key, was, -1)
            self._add(object_key, now, 1)

    def _add(self, object_key: str, counted: tuple[int, tuple[tuple[str, bool], ...]] | None, sign: int) -> None:
        if counted is None:
            return
        nodes, policies = counted
        key = parse_key(object_key)
        self.nodes += sign * nodes
        _count(self._kinds, key.type_id, sign)
        if key.namespace != CLUSTER:
            _count(self._namespaces, key.namespace, sign)
        for policy, is_described in policies:
            _count(self.policies, policy, sign)
            _count(self._policy_kinds, parse_key(policy).type_id, sign)
            if not is_described:
                _count(self._undescribed, parse_key(policy).type_id, sign)


def _policies(nodes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    for node in nodes:
        for told in node["policies"]:
            yield told["policy"], told.get("reason") != "NotDescribed"


def _count(counter: Counter[str], name: str, sign: int) -> None:
    counter[name] += sign
    if not counter[name]:
        del counter[name]
