"""Objects of a hostile tenant: valid for the API server, and meant to cost others time, memory or availability.

`ATTACKS` has them by name. A maker gets a number and returns the objects of one attack; the same number gives the same
names, so that attacks replace their own objects. All of them are in the tenant's namespace, and
data for policies in POLICIES.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

GATEWAY_API = "gateway.networking.k8s.io"
GROUP = "tenants.example.com"
HOSTILE = "hostile"  # the tenant's namespace
POLICIES = "opa-policies"  # where it may write data for policies
TWICE = ("tenants.example.com/below", "tenants.example.com/also")  # annotations: the admin's extension expects one
SHARED = {"name": "shared", "namespace": "infra"}  # the Gateway of all tenants

Object = dict[str, Any]

# Just below and far above the default bounds on policies (docs/reference/settings.md, "Bounds on policies").
LEAVES = (2_900, 20_000)
REFS = (256, 12_000)
DEPTHS = (60, 900, 9_000)
BYTES = (250_000, 1_000_000)

WORDS: dict[str, list[Any]] = json.loads((Path(__file__).parent / "words.json").read_text())
ODD_NAMES = (*WORDS["odd_names"], "é" * 200, "x" * 20_000)
TAGS = (*WORDS["tags"], f"a: 0x{'f' * 5_000}")
ODD_VALUES, PATTERNS = WORDS["odd_values"], WORDS["patterns"]

_MERGED = (f"k{number}: {{<<: [{', '.join(['*all'] * 50)}]}}" for number in range(1_000))
_ALIASES = (f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12))
# Costly to read, and all refused: what is valid would change the modules' bundle, which is another cost.
DATA = (
    "\n".join((f"all: &all {{{', '.join(f'x{number}: 1' for number in range(100))}}}", *_MERGED)),
    "\n".join(("a0: &a0 [1, 1, 1, 1]", *_ALIASES)),
    "{}" * 120_000,
    "- []\n" * 150_000 + "a: 1",
    f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 20_000)}]",
    "[" + "[], " * 150_000 + "]: 1",
)


def policy(name: str, spec: Any, kind: str = "LimitPolicy") -> Object:
    """Return a policy of the tenant with exactly this `spec`."""
    return _object(f"{GROUP}/v1", kind, name, spec=spec)


def wide_policies(number: int) -> Iterable[Object]:
    """Return policies with the largest allowed number of leaves, and with more."""
    leaves = LEAVES[number % 2]
    yield policy(f"wide-{number}", {"targetRefs": [_route(0)], **{f"f{leaf}": leaf for leaf in range(leaves)}})


def deep_policies(number: int) -> Iterable[Object]:
    """Return policies with many levels of objects and of lists."""
    depth = DEPTHS[number % 3]
    yield policy(f"deep-{number}", {"targetRefs": [_route(0)], "a": nested(depth, lists=number % 2 == 1)})


def deep_things(number: int) -> Iterable[Object]:
    """Return deep objects of a type whose fields are all replicated."""
    yield _object("example.com/v1", "Thing", f"deep-{number}", spec=nested(DEPTHS[number % 3], lists=number % 2 == 0))


def huge_policies(number: int) -> Iterable[Object]:
    """Return a policy with one large text."""
    yield policy(f"huge-{number}", {"targetRefs": [_route(0)], "text": "x" * BYTES[number % 2]})


def huge_things(number: int) -> Iterable[Object]:
    """Return an object with one large text and large annotations."""
    thing = _object("example.com/v1", "Thing", f"huge-{number}", spec={"text": "y" * BYTES[number % 2]})
    thing["metadata"]["annotations"] = {f"example.com/a{count}": "z" * 20_000 for count in range(12)}
    yield thing


def many_refs(number: int) -> Iterable[Object]:
    """Return policies with many targets: existing routes, and names without an object."""
    refs = REFS[number % 2]
    yield policy(f"refs-{number}", {"targetRefs": [_route(ref % 60) for ref in range(refs)], "requests": number})
    missing = [{**_route(0), "name": f"missing-{ref}"} for ref in range(REFS[0])]
    yield policy(f"missing-{number}", {"targetRefs": missing})


def selected_by_everything(number: int) -> Iterable[Object]:
    """Return policies with many selectors that select everything."""
    selector = {"group": GATEWAY_API, "kind": "HTTPRoute"}
    yield policy(f"select-{number}", {"targetSelectors": [selector] * 50, "requests": number})


def many_policies_on_one_route(number: int) -> Iterable[Object]:
    """Return many policies on one route."""
    for count in range(12):
        yield policy(f"stack-{number}-{count}", {"targetRefs": [_route(1)], "requests": count, f"f{number}": None})


def large_routes(number: int) -> Iterable[Object]:
    """Return routes with the largest allowed number of rules, parents and backends, on the shared Gateway."""
    backends = [{"name": f"service-{count}", "port": 80} for count in range(16)]
    rules = [{"backendRefs": backends, "matches": [_path(f"/{rule}")]} for rule in range(16)]
    parents = [{**SHARED, "sectionName": "web", "port": 80 + count} for count in range(31)] + [dict(SHARED)]
    yield route(f"large-{number}", rules, parentRefs=parents)


def routes_of_many_gateways(number: int) -> Iterable[Object]:
    """Return Gateways with the largest allowed number of listeners, and a route with many parents."""
    names = [f"wide-{count}" for count in range(10)]
    listeners = [
        {"name": f"l{count}", "port": 80 + count, "protocol": "HTTP", "hostname": f"*.h{count % 3}.example.com"}
        for count in range(64)
    ]
    gateway = {"gatewayClassName": "main", "listeners": listeners}
    yield _object(f"{GATEWAY_API}/v1", "Gateway", names[number % len(names)], spec=gateway)
    rules = [
        {
            "matches": [_path(f"/{number}/{rule}/{match}") for match in range(8)],
            "backendRefs": [{"name": f"service-{count}", "port": 80} for count in range(16)],
        }
        for rule in range(16)
    ]
    hostnames = [f"a{count}.h{count % 3}.example.com" for count in range(16)]
    yield route(f"everywhere-{number % 20}", rules, parentRefs=[{"name": name} for name in names], hostnames=hostnames)


def routes(number: int) -> Iterable[Object]:
    """Return many ordinary routes of the tenant."""
    for count in range(number * 10, number * 10 + 10):
        yield route(f"route-{count}", [{"backendRefs": [{"name": "cart", "port": 80}]}])


def regexes(number: int) -> Iterable[Object]:
    """Return routes with patterns that are expensive for an engine of regular expressions, for every hostname."""
    matches = [
        {
            "path": {"type": "RegularExpression", "value": f"/{number}/{count}/{PATTERNS[count % len(PATTERNS)]}"},
            "headers": [{"type": "RegularExpression", "name": "x", "value": PATTERNS[(count + 1) % len(PATTERNS)]}],
        }
        for count in range(64)
    ]
    rules = [{"matches": matches[first : first + 16]} for first in range(0, 64, 16)]
    yield route(f"regex-{number}", rules, hostnames=["*.example.com"])


def escaped_paths(number: int) -> Iterable[Object]:
    """Return a route with paths that a URL or a JSON Pointer escapes; its paths change with the number."""
    paths = ("/a%20b", "/%25", "/%2F", "/a%7E1b", "/~0", "/a//b", "/a%2Fb")
    matches = [_path(path) for path in paths[number % 3 :]]
    yield route(f"escaped-{number % 4}", [{"matches": matches, "backendRefs": [{"name": "cart", "port": 80}]}])


def odd_data(number: int) -> Iterable[Object]:
    """Return data for policies in YAML that takes much time or memory, or has tags on values of another kind."""
    for count, text in enumerate((DATA[number % len(DATA)], TAGS[number % len(TAGS)])):
        made = _object("v1", "ConfigMap", f"odd-{number}-{count}", data={"k": text})
        made["metadata"] |= {"namespace": POLICIES, "labels": {"openpolicyagent.org/data": "opa"}}
        yield made


def failed_extensions(number: int) -> Iterable[Object]:
    """Return an object on which the admin's extension fails."""
    thing = _object("example.com/v1", "Thing", f"twice-{number}", spec={})
    thing["metadata"]["annotations"] = {name: f"{place}-{number}" for place, name in enumerate(TWICE)}
    yield thing


def odd_backend_names(number: int) -> Iterable[Object]:
    """Return references with names that no object can have."""
    names = [name for name in ODD_NAMES if 0 < len(name) <= 253]
    chosen = names[number % len(names)]
    rules = [{"backendRefs": [{"name": chosen, "port": 80}, {"group": "example.com", "kind": "Thing", "name": chosen}]}]
    yield route(f"odd-{number}", rules, parentRefs=[dict(SHARED), {"name": chosen}])


def odd_policy_names(number: int) -> Iterable[Object]:
    """Return policies with refs, fields and values of an invalid name or type."""
    name = ODD_NAMES[number % len(ODD_NAMES)]
    value = ODD_VALUES[number % len(ODD_VALUES)]
    ref = {"group": GATEWAY_API, "kind": "HTTPRoute", "name": name, "sectionName": name, "namespace": name}
    yield policy(f"odd-ref-{number}", {"targetRefs": [ref, {**_route(0), "name": value}, value], name: value})
    yield policy(f"odd-refs-{number}", {"targetRefs": value, "targetSelectors": value, "strategy": value})
    yield policy(f"odd-spec-{number}", value)


def odd_statuses(number: int) -> Iterable[Object]:
    """Return invalid statuses, or lists full of other controllers' entries, to rewrite after the bridge's writes."""
    value = ODD_VALUES[number % len(ODD_VALUES)]
    entries = [{"ancestorRef": _route(count), "controllerName": "example.com/x"} for count in range(2_000)]
    for count, status in enumerate(({"conditions": value}, {"ancestors": value}, {"ancestors": entries}, value)):
        body = policy(f"status-{number}-{count}", {"targetRefs": [_route(0)], "requests": number})
        yield body if status is None else {**body, "status": status}


def nested(depth: int, *, lists: bool) -> Any:
    """Return this many levels of objects or lists, with an object at the top."""
    value: Any = 1
    for _ in range(depth - 1):
        value = [value] if lists else {"a": value}
    return {"a": value}


def route(name: str, rules: list[Object], **spec: Any) -> Object:
    """Return a route of the tenant, on the shared Gateway."""
    return _object(f"{GATEWAY_API}/v1", "HTTPRoute", name, spec={"parentRefs": [dict(SHARED)], "rules": rules, **spec})


def _route(number: int) -> Object:
    return {"group": GATEWAY_API, "kind": "HTTPRoute", "name": f"route-{number}"}


def _path(value: str) -> Object:
    return {"path": {"type": "PathPrefix", "value": value}}


def _object(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": HOSTILE}, **rest}


ATTACKS: dict[str, Callable[[int], Iterable[Object]]] = {
    made.__name__: made
    for made in (
        wide_policies,
        deep_policies,
        deep_things,
        huge_policies,
        huge_things,
        many_refs,
        selected_by_everything,
        many_policies_on_one_route,
        large_routes,
        routes_of_many_gateways,
        routes,
        regexes,
        escaped_paths,
        odd_data,
        failed_extensions,
        odd_backend_names,
        odd_policy_names,
        odd_statuses,
    )
}
