"""Random stacks for the comparison with the reference: one path with 3 to 8 policies that contend for a few fields.

Random clusters seldom have three policies on one path that set the same field. Here nearly every one has, with nulls,
scalars, empty objects and arrays where others have objects.
"""

from typing import Any

from tests.properties.drawing import Drawing, Object
from tests.properties.random_policies import STRATEGIES

GATEWAY_API = "gateway.networking.k8s.io"
GROUP = "stacks.example.com"
PLACES: tuple[Object, ...] = (
    {"group": GATEWAY_API, "kind": "GatewayClass", "name": "main"},
    {"group": "", "kind": "Namespace", "name": "shop"},
    {"group": GATEWAY_API, "kind": "Gateway", "name": "public", "namespace": "shop"},
    {"group": GATEWAY_API, "kind": "Gateway", "name": "public", "namespace": "shop", "sectionName": "web"},
    {"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart", "namespace": "shop"},
    {"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart", "namespace": "shop", "sectionName": "pay"},
    {"group": "", "kind": "Service", "name": "cart", "namespace": "shop"},
    {"group": "", "kind": "Service", "name": "cart", "namespace": "shop", "sectionName": "http"},
)
VARIANTS: tuple[Object, ...] = (
    *({},) * 4,
    {"parentLevels": ["Gateway", "Listener"]},
    {"parentLevels": ["Namespace", "Route"]},
    {"parentLevels": ["GatewayClass", "Gateway", "Listener", "Route"]},
)
SAME_LEVEL = ("OlderEstablished", "OlderEstablished", "OldestWins", "Conflict", "ConflictOnOverlap")
NAMES = ("a", "b~/ c", "")
MERGE_RULES: tuple[Object, ...] = (
    {"units": ["/a"]},
    {"units": ["/*/a"]},
    {"listKeys": {"/a": "n"}},
    {"listKeys": {"/a": "n", "/*/a": "n"}},
    {"listKeys": {"/a": "n", "/b~0~1 c/a": "n"}, "units": ["/"]},
    {"listKeys": {"/*": "n"}, "units": ["/a/*/d"]},
)


def random_stack(seed: int) -> list[Object]:
    """The objects of a seed."""
    draw = Drawing(seed, frozenset())
    _one_path(draw)
    kind = _policy_kind(draw)
    draw.add("policybridge.io/v1alpha1", "PolicyKind", f"stacks.{GROUP}", spec=kind)
    strategies = draw.some(draw.pick((STRATEGIES, ("PatchDefaults", "PatchOverrides"))), 1, 3)
    if "custom" in kind:
        strategies.append("Custom")
    for index in range(draw.pick((3, 3, 4, 4, 5, 6, 7, 8))):
        _policy(draw, kind, index, strategies)
    return draw.objects


def _one_path(draw: Drawing) -> None:
    listeners = [{"name": "web", "port": 80, "protocol": "HTTP"}]
    rules = [{"name": "pay", "backendRefs": [{"name": "cart", "port": 80}]}]
    draw.add("v1", "Namespace", "shop")
    draw.add(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": "example.com/gateways"})
    gateway = {"gatewayClassName": "main", "listeners": listeners}
    draw.add(f"{GATEWAY_API}/v1", "Gateway", "public", "shop", spec=gateway)
    draw.add(
        f"{GATEWAY_API}/v1", "HTTPRoute", "cart", "shop", spec={"parentRefs": [{"name": "public"}], "rules": rules}
    )
    draw.add("v1", "Service", "cart", "shop", spec={"ports": [{"name": "http", "port": 80}]})


def _policy_kind(draw: Drawing) -> Object:
    spec: Object = {
        "group": GROUP,
        "kind": "Stack",
        "mode": "Manage",
        "controllerName": f"{GROUP}/controller",
        "effectiveTarget": draw.pick(("Rule", "Rule", "Port")),
        "statusShape": "Conditions",
    }
    spec |= {"specPaths": [{"path": "/spec/proper", "strategyPath": "/spec/strategy"}], **draw.pick(VARIANTS)}
    spec |= draw.maybe("sameLevel", draw.pick([one for one in SAME_LEVEL if not _excludes(spec, one)]), 0.5)
    spec |= draw.pick(({}, {}, {"custom": "sums"}, {"merge": draw.pick(MERGE_RULES)}))
    return spec


def _excludes(spec: Object, same_level: str) -> bool:
    return "parentLevels" in spec and same_level == "OldestWins"


def _policy(draw: Drawing, kind: Object, index: int, strategies: list[str]) -> None:
    places = PLACES if kind["effectiveTarget"] == "Port" else PLACES[:6]
    spec: Object = {"targetRefs": [dict(ref) for ref in draw.some(places, 1, draw.pick((1, 1, 1, 1, 2)))]}
    spec |= {"proper": _proper(draw), "strategy": draw.pick(strategies)}
    metadata = {"creationTimestamp": f"2026-01-01T00:00:0{draw.pick((0, 1, 2))}Z"}
    draw.add(f"{GROUP}/v1", "Stack", f"{draw.pick('pqr')}{index}", metadata=metadata, spec=spec)


def _proper(draw: Drawing) -> Object:
    names = ["a"] if draw.chance(0.7) else []
    return {name: _value(draw, 2) for name in dict.fromkeys([*names, *draw.some(NAMES, 0, 2)])}


def _value(draw: Drawing, depth: int) -> Any:
    if depth and draw.chance(0.5):
        return {name: _value(draw, depth - 1) for name in draw.some(NAMES, 1, 2)}
    items = [{"n": name, **draw.maybe("d", draw.pick((1, None, {}, {"e": None})))} for name in draw.some("xyz", 1, 2)]
    return draw.pick((None, None, None, 1, 2, "x", False, {}, {}, [], [], [1], [None, {"k": None}], items, items))
