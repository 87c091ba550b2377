"""Random policy kinds and policies: all strategies, ties in time, duplicate refs, tombstones, empty specs."""

from typing import Any

from tests.properties.drawing import Drawing, Object

GATEWAY_API = "gateway.networking.k8s.io"
GROUP = "random.example.com"
NAMESPACES = ("infra", "shop", "blog")
STRATEGIES = ("AtomicDefaults", "AtomicOverrides", "PatchDefaults", "PatchOverrides")
LEVELS = ("GatewayClass", "Gateway", "Listener", "Route", "Route", "Rule", "Rule", "Rule", "Backend", "Backend", "Port")
TARGETS = (
    ("", "Namespace", False),
    (GATEWAY_API, "GatewayClass", False),
    (GATEWAY_API, "Gateway", True),
    (GATEWAY_API, "ListenerSet", True),
    (GATEWAY_API, "HTTPRoute", True),
    (GATEWAY_API, "GRPCRoute", True),
    (GATEWAY_API, "TCPRoute", True),
    ("", "Service", True),
    ("example.com", "Thing", False),
)
PARENT_LEVELS = ["Gateway", "ListenerSet", "Listener", "Namespace"]
SECTIONS = {
    "Gateway": "listeners",
    "ListenerSet": "listeners",
    "HTTPRoute": "rules",
    "GRPCRoute": "rules",
    "TCPRoute": "rules",
    "Service": "ports",
}
ABOVE_ALL = {"Namespace", "GatewayClass", "Thing"}  # or at a level that only an extension knows
CLUSTER_SCOPED = ("Namespace", "GatewayClass")
LABELS: tuple[Object, ...] = (
    {"matchLabels": {"tier": "front"}},
    {"matchLabels": {"tier": "back"}},
    {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
    {},
)
BARE = {"path": "/spec", "strategyPath": "/spec/strategy"}
WRAPPED = [
    {"path": "/spec/overrides", "strategy": "AtomicOverrides", "strategyPath": "/spec/overrides/strategy"},
    {"path": "/spec/defaults", "strategy": "AtomicDefaults", "strategyPath": "/spec/defaults/strategy"},
    BARE,
]


def draw_policies(draw: Drawing) -> None:
    """Add one or two policy kinds, and policies of them on the objects that are there."""
    kinds = [_policy_kind(draw, name) for name in draw.some(("Red", "Green", "Blue"), 1, 2)]
    for kind in kinds:
        places = [(name, namespace) for name in "pqrst" for namespace in (*NAMESPACES, *NAMESPACES, "")]
        for name, namespace in sorted(set(draw.some(places, 4, 10))):
            _policy(draw, kind, name, namespace)


def _policy_kind(draw: Drawing, name: str) -> Object:
    spec: Object = {
        "group": GROUP,
        "kind": name,
        "mode": "Manage",
        "controllerName": f"{GROUP}/controller",
        "class": "Direct" if draw.chance(0.2) else "Inherited",
        "crossNamespace": draw.pick(
            ("ReferenceGrant", "ReferenceGrant", "Forbidden", "Consumer" if draw.has("Consumer", 0.7) else "Forbidden")
        ),
        "statusShape": "Conditions",
    }
    if draw.has("Controllers", 0.3):
        spec["controllers"] = ["example.com/gateways"]
    if draw.chance(0.8):
        spec["targets"] = _targets(draw)
    if draw.has("Additive", 0.15):
        level = {} if spec["class"] == "Direct" else {"effectiveTarget": draw.pick(LEVELS)}
        spec |= {
            "defaultStrategy": "Additive",
            "specPaths": [{"path": "/spec", "without": ["select"]}],
            **level,
            **_order(draw),
        }
        if draw.has("FieldSelectors", 0.5):
            spec |= _field_selectors(draw, spec)
    elif spec["class"] == "Direct":
        spec["specPaths"] = [{"path": "/spec"}]
        if draw.has("ConflictOnOverlap"):
            spec["sameLevel"] = "ConflictOnOverlap"
    else:
        spec |= _inherited(draw)
    if "targets" in spec and not ABOVE_ALL & {entry["kind"] for entry in spec["targets"]}:
        spec["targets"].append({"group": "", "kind": "Namespace"})  # a kind that cannot reach its level is refused
    draw.add("policybridge.io/v1alpha1", "PolicyKind", f"{name.lower()}s.{GROUP}", spec=spec)
    return spec


def _targets(draw: Drawing) -> list[Object]:
    """The kinds of objects that policies may name."""
    targets = [
        {"group": group, "kind": kind, **draw.maybe("sections", sections, 0.9)}
        for group, kind, sections in TARGETS
        if draw.chance(0.85)
    ]
    for entry in targets:
        if entry["kind"] == "Service" and draw.has("Mesh", 0.4):
            entry["role"] = draw.pick(("Backend", "Frontend"))
        if entry["kind"] in {"Gateway", "ListenerSet"} and draw.has("WholePorts"):
            entry["wholePorts"] = True
    return targets or [{"group": "", "kind": "Service"}]


def _field_selectors(draw: Drawing, spec: Object) -> Object:
    """How policies without target refs select what they act on."""
    listed = {entry["kind"] for entry in spec.get("targets", ())} or {kind for _, kind, _ in TARGETS}
    targets = [{"group": group, "kind": kind} for group, kind, _ in TARGETS if kind in listed - {"Thing"}]
    if not targets:
        return {}
    selector = {"path": "/spec/select", "targets": draw.some(tuple(targets), 1, 2)}
    return {"selectors": [selector], **draw.maybe("rootNamespace", "infra", 0.6)}


def _order(draw: Drawing) -> Object:
    """How the policies of an additive kind are listed."""
    entries: tuple[Object, ...] = (
        {"path": "/spec/a", "values": ["x", 2, 1], **draw.maybe("default", 2)},
        {"path": "/spec/rank", "descending": True, **draw.maybe("default", 1)},
        {"path": "/spec/rank", **draw.maybe("default", 1)},
    )
    return draw.maybe("order", draw.some(entries, 1, 2), 0.7)


def _inherited(draw: Drawing) -> Object:
    return {
        "effectiveTarget": draw.pick(LEVELS) if not draw.has("Target", 0.15) else "Target",
        **_one(draw),
        **({"merge": _merge_rules(draw)} if draw.has("MergeRules", 0.4) else {}),
        **({"conditions": "Enforced"} if draw.has("Enforced", 0.3) else {}),
    }


def _merge_rules(draw: Drawing) -> Object:
    return {
        **draw.maybe("units", draw.pick((["/a"], ["/b~1c"], ["/*/f"], ["/a/*/d"]))),
        **draw.maybe("listKeys", draw.pick(({"/a": "n"}, {"/*": "n"}, {"/b~1c/f/*": "n"}))),
    }


def _one(draw: Drawing) -> Object:
    return {
        "specPaths": draw.pick((WRAPPED, [BARE])),
        "exclusiveWrappers": True,  # the reference knows one part of a policy
        "strategies": {"atomic": "Atomic", "merge": "Patch", "mine": "PatchOverrides"},
        **draw.maybe("defaultStrategy", draw.pick(STRATEGIES)),
        **_merging(draw),
    }


def _merging(draw: Drawing) -> Object:
    """How policies of a kind meet, of what the engine can."""
    if draw.has("ParentLevels", 0.25):
        return {"parentLevels": PARENT_LEVELS}
    same_level = draw.pick(("OlderEstablished", "OlderEstablished", "Conflict", "OldestWins", "ConflictOnOverlap"))
    return {"sameLevel": same_level} if same_level in {"Conflict", *draw.features} else {}


def _policy(draw: Drawing, kind: Object, name: str, namespace: str) -> None:
    refs = [_target_ref(draw, namespace) for _ in range(draw.pick((1, 1, 1, 2, 3)))]
    if draw.chance(0.1):
        refs.append(dict(refs[0]))
    spec: Object = {"targetRef": refs[0]} if draw.chance(0.1) else {"targetRefs": refs}
    if draw.has("Selectors", 0.2):
        spec["targetSelectors"] = [_selector(draw, namespace) for _ in range(draw.pick((1, 2)))]
        spec.pop(draw.pick(("targetRefs", "targetRef", "kept")), None)
    if "selectors" in kind and draw.chance(0.6):
        spec.pop("targetRefs", None)
        spec.pop("targetRef", None)
        spec |= draw.maybe("select", draw.pick(LABELS), 0.7)
    if kind.get("defaultStrategy") == "Additive":
        spec |= _proper(draw) | draw.maybe("rank", draw.pick((1, 2, 3)), 0.7)
    else:
        spec |= _proper(draw) if kind["class"] == "Direct" else _body(draw, kind)
    metadata: Object = {"creationTimestamp": f"2026-01-01T00:00:0{draw.pick((0, 1, 2))}Z"}
    metadata |= draw.maybe("deletionTimestamp", "2026-01-02T00:00:00Z", 0.06)
    draw.add(f"{GROUP}/v1", kind["kind"], name, namespace, metadata=metadata, spec=spec)


def _body(draw: Drawing, kind: Object) -> Object:
    """A spec without refs: its strategy in one of the ways that the kind has, rarely something that makes no sense."""
    wrappers = [entry["path"].removeprefix("/spec/") for entry in kind["specPaths"] if entry["path"] != "/spec"]
    if not wrappers or draw.chance(0.5):
        names = (*STRATEGIES, *STRATEGIES, *STRATEGIES, "atomic", "merge", "mine", "nonsense")
        return _proper(draw) | draw.maybe("strategy", draw.pick(names), 0.75)
    wrapper = draw.pick(wrappers)
    body: Object = {wrapper: _proper(draw) | draw.maybe("strategy", draw.pick(("atomic", "merge")))}
    if draw.chance(0.08):
        body[draw.pick(wrappers)] = draw.pick(({"x": 1}, "text", {}))
    return body | draw.maybe("beside", 1, 0.08)


def _proper(draw: Drawing) -> Object:
    """A spec proper: nested, with tombstones, empty objects and arrays; sometimes empty."""
    values: tuple[Any, ...] = (1, 2, "x", None, False, {}, [], [1, None], [{"k": None}], {"d": 1}, {"e": 2, "d": None})
    if draw.has("MergeRules", 0.4):
        values = (*values, *(_items(draw) for _ in range(6)))
    deep = {"f": {"g": draw.pick(values), **draw.maybe("h", draw.pick(values))}}
    return {name: draw.pick((*values, deep)) for name in draw.some(("a", "b/c", "~"), 0, 3)}


def _items(draw: Drawing) -> list[Object]:
    """A list that may be merged by its items' names, sometimes one that can not."""
    items = [
        {"n": name, **draw.maybe("d", draw.pick((1, None, {"e": 1}))), **draw.maybe("f", draw.pick((2, [], [3])))}
        for name in draw.some(("x", "y", "z"), 0, 3)
    ]
    return [*items, *draw.pick(([], [], [], [], [{"n": "x"}], [{"d": 4}], [5]))]


def _target_ref(draw: Drawing, namespace: str) -> Object:
    """A ref from that namespace, mostly to an object that there is, and often to one that it may name."""
    group, kind, _ = draw.pick((*TARGETS, *TARGETS[2:4], *TARGETS[2:4], TARGETS[6]))
    there = [obj for obj in draw.objects if obj["kind"] == kind]
    near = [obj for obj in there if namespace in {"", obj["metadata"].get("namespace"), obj["metadata"]["name"]}]
    target = draw.pick((near if near and draw.chance(0.7) else there) or [{"metadata": {"name": "missing"}}])
    ref = {
        "group": group if not group or draw.chance(0.7) else f"{group}/v1",
        "kind": kind,
        "name": target["metadata"]["name"] if draw.chance(0.94) else "missing",
        **draw.maybe("sectionName", _section(draw, target), 0.35 if kind in SECTIONS else 0.03),
    }
    if draw.has("ClassName", 0.12):
        ref["className"] = draw.pick(("main", "other"))
    if kind not in CLUSTER_SCOPED:
        own = target["metadata"].get("namespace", "shop")
        # Whether a Thing is namespaced no object says where there is none: a ref of a cluster-scoped policy does.
        if namespace != own or kind == "Thing" or draw.chance(0.2):
            ref["namespace"] = own
        if not namespace and kind != "Thing" and draw.chance(0.1):
            del ref["namespace"]
    return ref


def _selector(draw: Drawing, namespace: str) -> Object:
    group, kind, _ = draw.pick(TARGETS if namespace else TARGETS[:-1])  # whether Things are namespaced is not known
    return {"group": group, "kind": kind, **draw.pick(LABELS)}


def _section(draw: Drawing, target: Object) -> str:
    """A section's name, a port's number, a rule's index, or one that there is not."""
    parts = target.get("spec", {}).get(SECTIONS.get(target.get("kind", ""), ""), [])
    names = [str(part.get("name", part.get("port", "[0]"))) for part in parts]
    if target.get("kind") == "Service":
        names += [str(part["port"]) for part in parts]
    return str(draw.pick((*names, *names, *names, "gone")))
