"""Stacks of policies for the laws of merging: one path of five levels, and what policies on it become in OPA."""

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from bridge.opa.client import Opa
from tests.builders import GATEWAY_API, resource

GROUP = "laws.example.com"
KIND = f"{GROUP}/LawPolicy"
RULE = f"{GATEWAY_API}/HTTPRoute/laws/route#only"
LEVELS = (
    {"kind": "GatewayClass", "name": "laws"},
    {"kind": "Gateway", "name": "gateway", "namespace": "laws"},
    {"kind": "Gateway", "name": "gateway", "namespace": "laws", "sectionName": "http"},
    {"kind": "HTTPRoute", "name": "route", "namespace": "laws"},
    {"kind": "HTTPRoute", "name": "route", "namespace": "laws", "sectionName": "only"},
)
STRATEGIES = ("AtomicDefaults", "AtomicOverrides", "PatchDefaults", "PatchOverrides")

Object = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A policy of a stack. Its name is made of its place in the stack: those of one level are equally old."""

    level: int
    strategy: str
    spec: Any


_names = st.sampled_from(["a", "b", "c~/d", "", " e f"])
_leaves = st.one_of(
    st.none(),
    st.integers(0, 3),
    st.sampled_from(["x", True, 1.5]),
    st.lists(st.one_of(st.none(), st.integers(0, 2), st.just({"k": None})), max_size=2),
)
_items = st.lists(
    st.fixed_dictionaries(
        {"n": st.sampled_from(["x", "y", "z"])},
        optional={"a": st.sampled_from([1, 2, None, {"b": 1}, {"b": None}]), "b": st.sampled_from([{}, [], [1], [2]])},
    ),
    max_size=3,
)
_values = st.recursive(_leaves, lambda inner: st.dictionaries(_names, inner, max_size=3), max_leaves=6)
merge_rules = st.fixed_dictionaries(
    {},
    optional={
        "units": st.sampled_from([["/a"], ["/a/*"], ["/c~0~1d/*/a", "/a/b"]]),
        "listKeys": st.sampled_from([{"/a": "n"}, {"/*": "n"}, {"/b/a": "n", "/*": "n"}]),
    },
)
_mergeable = st.dictionaries(
    _names, st.one_of(_items, st.dictionaries(_names, _items, max_size=2), _values), max_size=3
)
specs = st.dictionaries(_names, _values, max_size=3)
entries = st.builds(Entry, st.integers(0, len(LEVELS) - 1), st.sampled_from(STRATEGIES), specs)
stacks = st.lists(entries, min_size=1, max_size=6).map(lambda found: sorted(found, key=lambda entry: entry.level))
mergeable_stacks = st.lists(
    st.builds(Entry, st.integers(0, len(LEVELS) - 1), st.sampled_from(STRATEGIES[1:] + STRATEGIES[2:]), _mergeable),
    min_size=1,
    max_size=5,
).map(lambda found: sorted(found, key=lambda entry: entry.level))
patches = st.builds(Entry, st.integers(0, len(LEVELS) - 1), st.sampled_from(["PatchDefaults", "PatchOverrides"]), specs)
patch_stacks = st.lists(patches, min_size=1, max_size=6).map(lambda found: sorted(found, key=lambda entry: entry.level))


def key_of(index: int) -> str:
    """The key of the policy at this place of a stack, the established ones first."""
    return f"{KIND}/-/p{index:02}"


def objects_of(stack: list[Entry], options: Object) -> list[Object]:
    """The objects of one path, and a policy for each entry; the PolicyKind has these options."""
    return [*_path(options), *(_policy(index, entry) for index, entry in enumerate(stack))]


def _path(options: Object) -> list[Object]:
    kind = {
        "group": GROUP,
        "kind": "LawPolicy",
        "class": "Inherited",
        "effectiveTarget": "Rule",
        "specPaths": [{"path": "/spec/proper", "strategyPath": "/spec/strategy"}],
        **options,
    }
    gateway = {"gatewayClassName": "laws", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}
    route = {"parentRefs": [{"name": "gateway"}], "rules": [{"name": "only"}]}
    api = f"{GATEWAY_API}/v1"
    return [
        resource("policybridge.io/v1alpha1", "PolicyKind", "laws", spec=kind),
        resource(api, "GatewayClass", "laws", spec={"controllerName": "example.com/gateways"}),
        resource(api, "Gateway", "gateway", "laws", spec=gateway),
        resource(api, "HTTPRoute", "route", "laws", spec=route),
    ]


def _policy(index: int, entry: Entry) -> Object:
    created = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {
        "targetRefs": [{"group": GATEWAY_API, **LEVELS[entry.level]}],
        "strategy": entry.strategy,
        "proper": entry.spec,
    }
    return resource(f"{GROUP}/v1", "LawPolicy", f"p{index:02}", metadata=created, spec=spec)


@dataclass
class Engine:
    """An OPA without objects, with these objects in the input."""

    runner: asyncio.Runner
    opa: Opa

    def path(self, objects: list[Object]) -> Object:
        """The effective policy on the only path."""
        question = {"targets": [RULE], "policyKind": KIND, "changes": {"upsert": objects}}
        [row] = self.runner.run(self.opa.query("effective", question))
        [path] = row["paths"]
        found: Object = path
        return found

    def merged(self, stack: list[Entry], options: Object) -> Object:
        """What a stack becomes."""
        return self.path(objects_of(stack, options))
