"""Objects of a hostile tenant: valid for the API server, and meant to cost others time, memory or availability.

`ATTACKS` has them by name. A maker gets a number and returns the objects of one attack; the same number gives the same
names, so that attacks replace their own objects. All of them are in the tenant's namespace, and data for policies in
POLICIES.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

GATEWAY_API = "gateway.networking.k8s.io"
GROUP = "tenants.example.com"
HOSTILE = "hostile"  # the tenant's namespace
POLICIES = "opa-policies"  # where it may write data for policies
SHARED = {"name": "shared", "namespace": "infra"}  # the Gateway of all tenants

Object = dict[str, Any]

# Just below and far above the default bounds on policies (docs/reference/settings.md, "Bounds on policies").
LEAVES = (2_900, 20_000)
REFS = (256, 12_000)
DEPTHS = (60, 900, 9_000)
BYTES = (250_000, 1_000_000)

WORDS: dict[str, list[Any]] = json.loads((Path(__file__).parent / "words.json").read_text())
ODD_NAMES = (*WORDS["odd_names"], "é" * 200, "x" * 20_000)
ODD_VALUES = WORDS["odd_values"]
# Data for policies that costs much to read, or that no parser expects. All of it is refused: what is valid would change
# the modules' bundle, which is another cost.
DATA = (
    *WORDS["tags"],
    f"a: 0x{'f' * 5_000}",
    "{}" * 120_000,
    "- []\n" * 150_000 + "a: 1",
    f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 20_000)}]",
)


def wide(number: int) -> Iterable[Object]:
    """Return a policy with the largest allowed number of leaves, or with more."""
    leaves = LEAVES[number % 2]
    yield policy(f"wide-{number}", {"targetRefs": [_route(0)], **{f"f{leaf}": leaf for leaf in range(leaves)}})


def deep(number: int) -> Iterable[Object]:
    """Return a policy and another object with many levels of objects or of lists."""
    value = nested(DEPTHS[number % 3], lists=number % 2 == 1)
    yield policy(f"deep-{number}", {"targetRefs": [_route(0)], "a": value})
    yield make_object("example.com/v1", "Thing", f"deep-{number}", spec=value)


def huge(number: int) -> Iterable[Object]:
    """Return a policy and another object with one large text, and large annotations."""
    text = "x" * BYTES[number % 2]
    yield policy(f"huge-{number}", {"targetRefs": [_route(0)], "text": text})
    thing = make_object("example.com/v1", "Thing", f"huge-{number}", spec={"text": text})
    thing["metadata"]["annotations"] = {f"example.com/a{count}": "z" * 20_000 for count in range(12)}
    yield thing


def many_refs(number: int) -> Iterable[Object]:
    """Return policies with many targets (existing routes, and names without an object) and many selectors."""
    refs = REFS[number % 2]
    yield policy(f"refs-{number}", {"targetRefs": [_route(ref % 60) for ref in range(refs)], "requests": number})
    missing = [{**_route(0), "name": f"missing-{ref}"} for ref in range(REFS[0])]
    yield policy(f"missing-{number}", {"targetRefs": missing})
    everything = {"group": GATEWAY_API, "kind": "HTTPRoute"}
    yield policy(f"select-{number}", {"targetSelectors": [everything] * 50, "requests": number})


def many_policies_on_one_route(number: int) -> Iterable[Object]:
    """Return many policies on one route."""
    for count in range(12):
        yield policy(f"stack-{number}-{count}", {"targetRefs": [_route(1)], "requests": count, f"f{number}": None})


def many_routes(number: int) -> Iterable[Object]:
    """Return ordinary routes of the tenant."""
    for count in range(number * 10, number * 10 + 10):
        yield route(f"route-{count}", [{"backendRefs": [{"name": "cart", "port": 80}]}])


def odd_data(number: int) -> Iterable[Object]:
    """Return data for policies."""
    for count, text in enumerate(DATA[number % 3 :: 3]):
        made = make_object("v1", "ConfigMap", f"odd-{number}-{count}", data={"k": text})
        made["metadata"] |= {"namespace": POLICIES, "labels": {"openpolicyagent.org/data": "opa"}}
        yield made


def odd_names(number: int) -> Iterable[Object]:
    """Return refs, fields and values with names that no object can have, or of another type."""
    name = ODD_NAMES[number % len(ODD_NAMES)]
    value = ODD_VALUES[number % len(ODD_VALUES)]
    ref = {**_route(0), "name": name, "sectionName": name, "namespace": name}
    yield policy(f"odd-ref-{number}", {"targetRefs": [ref, {**_route(0), "name": value}, value], name: value})
    yield policy(f"odd-refs-{number}", {"targetRefs": value, "targetSelectors": value, "strategy": value})
    yield policy(f"odd-spec-{number}", value)
    backends = [{"name": name, "port": 80}, {"group": "example.com", "kind": "Thing", "name": name}]
    yield route(f"odd-{number}", [{"backendRefs": backends}], parentRefs=[dict(SHARED), {"name": name}])


def odd_statuses(number: int) -> Iterable[Object]:
    """Return invalid statuses, or lists full of other controllers' entries, to rewrite after the bridge's writes."""
    value = ODD_VALUES[number % len(ODD_VALUES)]
    entries = [{"ancestorRef": _route(count), "controllerName": "example.com/x"} for count in range(2_000)]
    for count, status in enumerate(({"conditions": value}, {"ancestors": value}, {"ancestors": entries}, value)):
        body = policy(f"status-{number}-{count}", {"targetRefs": [_route(0)], "requests": number})
        yield body if status is None else {**body, "status": status}


def policy(name: str, spec: Any) -> Object:
    """Return a policy of the tenant with exactly this `spec`."""
    return make_object(f"{GROUP}/v1", "LimitPolicy", name, spec=spec)


def nested(depth: int, *, lists: bool) -> Any:
    """Return this many levels of objects or lists, with an object at the top."""
    value: Any = 1
    for _ in range(depth - 1):
        value = [value] if lists else {"a": value}
    return {"a": value}


def route(name: str, rules: list[Object], **spec: Any) -> Object:
    """Return a route of the tenant, on the shared Gateway."""
    spec = {"parentRefs": [dict(SHARED)], "rules": rules, **spec}
    return make_object(f"{GATEWAY_API}/v1", "HTTPRoute", name, spec=spec)


def _route(number: int) -> Object:
    return {"group": GATEWAY_API, "kind": "HTTPRoute", "name": f"route-{number}"}


def make_object(api_version: str, kind: str, name: str, namespace: str = HOSTILE, **rest: Any) -> Object:
    """Return an object with these fields besides its metadata."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **rest}


_MAKERS = (wide, deep, huge, many_refs, many_policies_on_one_route, many_routes, odd_data, odd_names)
ATTACKS: dict[str, Callable[[int], Iterable[Object]]] = {make.__name__: make for make in _MAKERS}
