"""A random small world of Gateway API objects, policy kinds and policies, and random steps in it."""

import random
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of

GATEWAY_API = "gateway.networking.k8s.io"
GROUP = "walk.example.com"
THING = "example.com/Thing"  # a backend of an implementation's own
PARAMETERS = "gateway.envoyproxy.io/EnvoyProxy"  # of a GatewayClass, whose Gateways may then share proxies
NAMESPACES = ("infra", "shop", "blog")
STRATEGIES = ("AtomicDefaults", "AtomicOverrides", "PatchDefaults", "PatchOverrides")
POLICY_KINDS = ("RulePolicy", "BackendPolicy", "DirectPolicy", "SelectingPolicy")
LEVELS = ("GatewayClass", "Gateway", "Listener", "Route", "Rule", "Backend", "Port", "Target", "Target")
TARGET_KINDS = (
    ("core", "Namespace", False),
    (GATEWAY_API, "GatewayClass", False),
    (GATEWAY_API, "Gateway", True),
    (GATEWAY_API, "HTTPRoute", True),
    ("core", "Service", True),
    ("example.com", "Thing", False),
)


class SmallWorld:
    """What exists now, and what may happen next. The same `seed` gives the same life.

    With `merging` Gateways of a class may share proxies, which an object of the type PARAMETERS decides.
    """

    def __init__(self, seed: int, *, merging: bool = False) -> None:
        self._random = random.Random(seed)
        self._merging = merging
        self.objects: dict[Key, Object] = {}
        self._generation = 0
        for namespace in NAMESPACES:
            self._add(self._namespace(namespace))
        self._add(self._gateway_class("main"))
        if merging:
            self._add(self._envoy_proxy("fleet", merges=True))
        for kind in POLICY_KINDS:
            self._add(self._policy_kind(kind, plain=True))
        for _ in range(30):
            self.step()

    def step(self) -> tuple[str, Key, Object | None]:
        """One change: what happened in a word, to which object, and what that is now."""
        make, weights = zip(*self._makers, strict=True)
        if self._random.random() < 0.25:
            candidates = [key for key in self.objects if key.kind not in {"PolicyKind", "Namespace"}]
            rare = [key for key in self.objects if key.kind in {"PolicyKind", "Namespace", "GatewayClass"}]
            if rare and self._random.random() < 0.1:
                candidates = rare
            if candidates:
                key = self._random.choice(candidates)
                del self.objects[key]
                return "delete", key, None
        obj = self._random.choices(make, weights)[0]()
        return ("change" if key_of(obj) in self.objects else "create"), self._add(obj), obj

    @property
    def _makers(self) -> tuple[tuple[Any, int], ...]:
        pick = self._random.choice
        return (
            (lambda: self._policy(pick(POLICY_KINDS)), 12),
            (lambda: self._route(pick(("one", "two", "three")), pick(("shop", "blog"))), 6),
            (lambda: self._route(pick(("one", "two")), pick(("shop", "blog")), "GRPCRoute"), 2),
            (lambda: self._gateway(pick(("public", "inner")), pick(("infra", "shop"))), 4),
            (lambda: self._listener_set(pick(("more", "most")), pick(("infra", "shop"))), 3),
            (lambda: self._service(pick(("cart", "stock")), pick(("shop", "shop", "blog", "infra"))), 3),
            (lambda: self._thing(pick(("bucket", "queue"))), 1),
            (lambda: self._grant(pick(("first", "second")), pick(NAMESPACES)), 3),
            (lambda: self._namespace(pick(NAMESPACES)), 1),
            (lambda: self._gateway_class(pick(("main", "other"))), 1),
            (lambda: self._policy_kind(pick(POLICY_KINDS)), 1),
            *(((lambda: self._envoy_proxy(pick(("fleet", "fleet", "spare"))), 2),) if self._merging else ()),
        )

    def _add(self, obj: Object) -> Key:
        self._generation += 1
        obj["metadata"]["generation"] = self._generation
        key = key_of(obj)
        self.objects[key] = obj
        return key

    def _labels(self) -> dict[str, str]:
        return self._maybe("team", self._random.choice(("red", "blue")), 0.7)

    def _some(self, options: Any, low: int, high: int) -> list[Any]:
        return self._random.sample(options, self._random.randint(low, min(high, len(options))))

    def _maybe(self, name: str, value: Any, chance: float = 0.5) -> dict[str, Any]:
        return {name: value} if self._random.random() < chance else {}

    def _namespace(self, name: str) -> Object:
        return _object("v1", "Namespace", name, labels=self._maybe("team", self._random.choice(("red", "blue"))))

    def _gateway_class(self, name: str) -> Object:
        controller = self._random.choice(("gateways", "gateways", "others"))
        spec: dict[str, Any] = {"controllerName": f"example.com/{controller}"}
        if self._merging and self._random.random() < 0.9:
            group, kind = PARAMETERS.split("/")
            ref = {"group": group, "kind": kind, "namespace": "infra", "name": self._random.choice(("fleet", "spare"))}
            spec = {"controllerName": f"{group}/gatewayclass-controller", "parametersRef": ref}
        return _object(f"{GATEWAY_API}/v1", "GatewayClass", name, spec=spec)

    def _envoy_proxy(self, name: str, *, merges: bool | None = None) -> Object:
        spec = {"mergeGateways": self._random.random() < 0.8 if merges is None else merges}
        return _object(f"{PARAMETERS.split('/', maxsplit=1)[0]}/v1alpha1", "EnvoyProxy", name, "infra", spec=spec)

    def _gateway(self, name: str, namespace: str) -> Object:
        pick = self._random.choice
        spec = {
            "gatewayClassName": pick(("main", "main", "other")),
            "listeners": self._listeners(),
            **self._maybe("allowedListeners", {"namespaces": self._from()}, 0.8),
            **self._maybe("defaultScope", "All", 0.2),
        }
        obj = _object(f"{GATEWAY_API}/v1", "Gateway", name, namespace, spec=spec, labels=self._labels())
        if self._merging:
            obj["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{pick((1, 2))}Z"
        return obj

    def _listener_set(self, name: str, namespace: str) -> Object:
        pick = self._random.choice
        parent = {"name": pick(("public", "inner")), "namespace": pick(("infra", "infra", "shop"))}
        spec = {"parentRef": parent, "listeners": self._listeners()}
        obj = _object(f"{GATEWAY_API}/v1", "ListenerSet", name, namespace, spec=spec, labels=self._labels())
        obj["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{pick((1, 2))}Z"
        return obj

    def _listeners(self) -> list[dict[str, Any]]:
        """Few hostnames and ports, so that listeners of one Gateway are often in conflict."""
        pick = self._random.choice
        found = []
        for listener, port in self._some([("web", 80), ("safe", 443), ("odd", 80)], 1, 3):
            protocol = "TCP" if self._random.random() < 0.1 else "HTTP"
            hostname = pick(("*.example.com", "shop.example.com", "other.test"))
            found.append(
                {
                    "name": listener,
                    "port": port,
                    "protocol": protocol,
                    **(self._maybe("hostname", hostname, 0.7) if protocol == "HTTP" else {}),
                    "allowedRoutes": {"namespaces": self._from()},
                }
            )
        return found

    def _from(self) -> dict[str, Any]:
        """Whose routes or ListenerSets are allowed."""
        selected = {"from": "Selector", "selector": {"matchLabels": {"team": "red"}}}
        chosen: dict[str, Any] = self._random.choice(({"from": "All"}, {"from": "All"}, {"from": "Same"}, selected))
        return chosen

    def _route(self, name: str, namespace: str, kind: str = "HTTPRoute") -> Object:
        pick = self._random.choice
        parents = [self._parent_ref() for _ in range(self._random.randint(0, 3))]
        rules = [
            {
                **self._maybe("name", f"rule-{index}"),
                "backendRefs": [self._backend_ref() for _ in range(pick((0, 1, 1, 2)))],
                **self._maybe("filters", [self._mirror()], 0.2),
            }
            for index in range(self._random.randint(1, 3))
        ]
        spec = {
            "parentRefs": parents,
            **self._maybe("useDefaultGateways", "All", 0.15),
            **self._maybe("hostnames", [pick(("shop.example.com", "blog.example.com", "other.test"))]),
            "rules": rules,
        }
        return _object(f"{GATEWAY_API}/v1", kind, name, namespace, spec=spec, labels=self._labels())

    def _parent_ref(self) -> dict[str, Any]:
        pick = self._random.choice
        if self._random.random() < 0.2:
            service = {"group": "", "kind": "Service", "name": pick(("cart", "stock"))}
            place = self._maybe("namespace", pick(("shop", "blog")), 0.4)
            return {**service, **place, **self._maybe("port", pick((80, 443)), 0.4)}
        if self._random.random() < 0.35:
            holder = {"kind": "ListenerSet", "name": pick(("more", "most"))}
        else:
            holder = {"name": pick(("public", "public", "inner", "missing"))}
        place = self._maybe("namespace", pick(("infra", "shop")), 0.8)
        return {**holder, **place, **self._maybe("sectionName", pick(("web", "safe", "odd")), 0.4)}

    def _mirror(self) -> dict[str, Any]:
        return {"type": "RequestMirror", "requestMirror": {"backendRef": self._backend_ref()}}

    def _backend_ref(self) -> dict[str, Any]:
        pick = self._random.choice
        if self._random.random() < 0.15:
            return {"group": "example.com", "kind": "Thing", "name": pick(("bucket", "queue"))}
        return {
            "name": pick(("cart", "stock")),
            "port": pick((80, 443)),
            **self._maybe("namespace", pick(NAMESPACES), 0.25),
        }

    def _service(self, name: str, namespace: str) -> Object:
        ports = [
            {"port": port, **self._maybe("name", word, 0.7)}
            for port, word in self._some([(80, "plain"), (443, "secret")], 1, 2)
        ]
        return _object("v1", "Service", name, namespace, spec={"ports": ports}, labels=self._labels())

    def _thing(self, name: str) -> Object:
        return _object("example.com/v1", "Thing", name, "shop")

    def _grant(self, name: str, namespace: str) -> Object:
        pick = self._random.choice
        referrers = [(GATEWAY_API, "HTTPRoute"), *((GROUP, kind) for kind in POLICY_KINDS)]
        targets = [("", "Service"), (GATEWAY_API, "HTTPRoute"), (GATEWAY_API, "Gateway")]
        giver = pick([other for other in NAMESPACES if other != namespace])
        spec = {
            "from": [{"group": group, "kind": kind, "namespace": giver} for group, kind in self._some(referrers, 2, 4)],
            "to": [
                {"group": group, "kind": kind, **self._maybe("name", pick(("cart", "public", "one")), 0.2)}
                for group, kind in self._some(targets, 2, 3)
            ],
        }
        return _object(f"{GATEWAY_API}/v1", "ReferenceGrant", name, namespace, spec=spec)

    def _policy_kind(self, kind: str, *, plain: bool = False) -> Object:
        pick = self._random.choice
        direct = kind in {"DirectPolicy", "SelectingPolicy"}
        level = "Rule" if kind == "RulePolicy" else "Backend"
        spec: dict[str, Any] = {
            "group": GROUP,
            "kind": kind,
            "mode": "Manage" if plain else pick(("Manage", "Manage", "Manage", "Observe")),
            "controllerName": f"{GROUP}/controller",
            "class": "Direct" if direct else "Inherited",
            "targets": [
                {
                    "group": group,
                    "kind": name,
                    "sections": sections,
                    **self._maybe("wholePorts", True, 0.3 if name in {"Gateway", "ListenerSet"} and not plain else 0),
                }
                for group, name, sections in TARGET_KINDS
                if plain or self._random.random() < 0.9
            ],
            "crossNamespace": "ReferenceGrant" if plain else pick(("ReferenceGrant", "ReferenceGrant", "Forbidden")),
            "specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}],
            "statusShape": "Ancestors" if kind == "RulePolicy" and plain else pick(("Ancestors", "Conditions")),
            "conditions": "Programmed" if plain else pick(("Programmed", "Enforced")),
            **self._maybe("controllers", ["example.com/gateways"], 0 if plain else 0.3),
        }
        if not plain:
            spec |= self._maybe("sameLevel", pick(("Conflict", "ConflictOnOverlap")), 0.6 if direct else 0.3)
        if not direct:
            spec["effectiveTarget"] = level if plain else pick((level, level, *LEVELS))
            spec["defaultStrategy"] = "PatchDefaults"
            spec["ancestorLevel"] = "Gateway" if plain else pick(("Gateway", "Target", "Route"))
        if kind == "SelectingPolicy":
            spec |= self._selecting(plain=plain)
            if spec.get("defaultStrategy") == "Additive":
                spec.pop("sameLevel", None)
        if not plain and not direct:
            spec.pop(pick(("targets", "mode", "kept")), None)
        return _object("policybridge.io/v1alpha1", "PolicyKind", kind.lower(), spec=spec)

    def _selecting(self, *, plain: bool) -> dict[str, Any]:
        """How policies without target refs select by fields of their own, by their Namespace and class too."""
        pick = self._random.choice
        types = [("", "Service"), (GATEWAY_API, "Gateway"), (GATEWAY_API, "HTTPRoute")]
        selector = {
            "path": "/spec/select",
            "by": "Objects",
            "targets": [{"group": group, "kind": kind} for group, kind in self._some(types, 1, 3)],
            **self._maybe("namespaces", "/spec/inNamespaces", 0.7),
            **self._maybe("controllers", ["example.com/gateways"], 0.6),
            **self._maybe("exceptClasses", ["other"], 0.2),
            **self._maybe("namespaceDefault", True, 0.3),
        }
        merging = {"defaultStrategy": "Additive"} if plain else pick(({"defaultStrategy": "Additive"}, {}))
        every = [{"group": group, "kind": name, "sections": sections} for group, name, sections in TARGET_KINDS]
        return {"selectors": [selector], "targets": every, **self._maybe("rootNamespace", "infra", 0.8), **merging}

    def _policy(self, kind: str) -> Object:
        pick = self._random.choice
        spec: dict[str, Any] = {"targetRefs": [self._target_ref() for _ in range(self._random.choice((1, 1, 1, 2, 3)))]}
        if self._random.random() < 0.3:
            spec["targetSelectors"] = [self._selector() for _ in range(pick((1, 1, 2)))]
            spec |= self._maybe("targetRefs", [], 0.6)
        if kind == "SelectingPolicy" and self._random.random() < 0.8:
            spec = self._maybe("select", {"matchLabels": self._labels()}, 0.8)
            spec |= self._maybe("inNamespaces", {"matchLabels": {"team": pick(("red", "blue"))}})
        if kind not in {"DirectPolicy", "SelectingPolicy"}:
            spec["strategy"] = pick(STRATEGIES) if self._random.random() < 0.95 else "Nonsense"
        for field in self._some(["a", "b", "c"], 0, 3):
            spec[field] = pick((1, 2, None, {"d": 1}, {"e": 2, "d": 3}, [1]))
        obj = _object(f"{GROUP}/v1", kind, pick("pqrst"), pick(NAMESPACES), spec=spec)
        obj["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{self._random.randint(0, 3)}Z"
        obj["metadata"] |= self._maybe("deletionTimestamp", "2026-01-02T00:00:00Z", 0.05)
        return obj

    def _selector(self) -> dict[str, Any]:
        pick = self._random.choice
        group, kind, _ = pick([target for target in TARGET_KINDS if target[1] not in {"Namespace", "Thing"}])
        chosen = pick(
            (
                {"matchLabels": {"team": pick(("red", "blue"))}},
                {"matchExpressions": [{"key": "team", "operator": pick(("Exists", "DoesNotExist"))}]},
                {},
            )
        )
        return {"group": "" if group == "core" else group, "kind": kind, **chosen}

    def _target_ref(self) -> dict[str, Any]:
        pick = self._random.choice
        group, kind, _ = pick((*TARGET_KINDS, TARGET_KINDS[2], TARGET_KINDS[3], TARGET_KINDS[3], TARGET_KINDS[4]))
        names = {
            "Namespace": NAMESPACES,
            "GatewayClass": ("main", "other"),
            "Gateway": ("public", "inner"),
            "HTTPRoute": ("one", "two", "three"),
            "Service": ("cart", "stock"),
            "Thing": ("bucket", "queue"),
        }
        sections = {
            "Gateway": ("web", "safe", "odd"),
            "HTTPRoute": ("rule-0", "rule-1", "[0]"),
            "Service": ("plain", "80", "443"),
        }
        return {
            "group": "" if group == "core" else group,
            "kind": kind,
            "name": pick((*names[kind], *names[kind], "missing")),
            **self._maybe("namespace", pick(NAMESPACES), 0.4 if kind not in {"Namespace", "GatewayClass"} else 0),
            **self._maybe("sectionName", pick(sections.get(kind, ("any",))), 0.35 if kind in sections else 0.03),
            **self._maybe("className", pick(("main", "other")), 0.15),
        }


def _object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    spec: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
) -> Object:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({"spec": spec} if spec else {})}
