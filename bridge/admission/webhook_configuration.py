"""The webhook configurations with which the API server calls the bridge.

There are two. The mutating one adds annotations to objects. Another mutating webhook may change an object after that,
so the validating one evaluates the same objects again, as they will be stored.

`Keeper` updates them: failurePolicy by whether policies exist, the kinds of policies that are reviewed, and
the bridge's caBundle. While the bridge is down the API server applies failurePolicy.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import structlog

from bridge.admission.review import AUTHOR_LABELS, MUTATING_PATH, VALIDATING_PATH
from bridge.files import rego_root
from bridge.kube.kube_client import KubeClient, patch_parts
from bridge.kube.kube_errors import Conflict, Forbidden, Invalid, KubeError, NotFound
from bridge.model.types import GATEWAY_API
from bridge.opa.shipped import preset_kinds

log = structlog.get_logger(__name__)

GROUP = "admissionregistration.k8s.io"
API_VERSION = f"{GROUP}/v1"


class Kind(NamedTuple):
    """A kind of webhook configuration, its name in URLs, the name of its webhook, and the called path."""

    kind: str
    plural: str
    webhook: str
    path: str


MUTATING = Kind(
    "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "admission.policybridge.io", MUTATING_PATH
)
VALIDATING = Kind(
    "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "validation.policybridge.io", VALIDATING_PATH
)
KINDS = (MUTATING, VALIDATING)
# Subresources that write the spec of a Pod, like `scale` for other kinds: a rule for the object itself does not cover
# them. Excluded are subresources that write neither spec nor metadata: evictions, tokens, approvals.
POD_SUBRESOURCES = ("pods/ephemeralcontainers", "pods/resize")
# Requests by which the API server also writes metadata of an object, besides `status` of each built-in kind. No patch
# is an answer to them, so only the validating webhook gets them.
METADATA_RESOURCES = {"pods": ("pods/binding", "bindings"), "namespaces": ("namespaces/finalize",)}
CONNECTIONS = ("pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy")
SYSTEM_NAMESPACES = ("kube-system", "kube-node-lease")
# Objects that must stay writable whatever policies decide: leases and events of components, the API server's own
# reviews, the resources of policies, and everything that a Pod of the bridge needs to start: nodes and their
# certificates, volumes, addresses from common network plugins.
CONDITIONS = (
    ("not-leases", "request.resource.group != 'coordination.k8s.io'"),
    ("not-events", "request.resource.resource != 'events'"),
    ("not-questions", "!(request.resource.group in ['authentication.k8s.io', 'authorization.k8s.io'])"),
    ("not-flow-control", "request.resource.group != 'flowcontrol.apiserver.k8s.io'"),
    ("not-nodes", "request.resource.group != '' || request.resource.resource != 'nodes'"),
    ("not-certificates", "request.resource.group != 'certificates.k8s.io'"),
    ("not-storage", "request.resource.group != 'storage.k8s.io' || request.resource.resource == 'storageclasses'"),
    (
        "not-networks",
        (
            "!(request.resource.group in ['cilium.io', 'crd.antrea.io', 'crd.projectcalico.org', 'k8s.ovn.org', "
            "'whereabouts.cni.cncf.io']) || request.resource.resource.endsWith('policies')"
        ),
    ),
    # Controllers write statuses all the time: only those that change metadata are reviewed.
    (
        "not-status-alone",
        # The API server leaves the field out where it is empty.
        "!has(request.subResource) || !(request.subResource in ['status', 'finalize']) || "
        "object == null || oldObject == null || "
        + " || ".join(
            f"(has(object.metadata.{field}) ? object.metadata.{field} : {none}) != "
            f"(has(oldObject.metadata.{field}) ? oldObject.metadata.{field} : {none})"
            for field, none in (
                ("labels", "{}"),
                ("annotations", "{}"),
                ("finalizers", "[]"),
                ("ownerReferences", "[]"),
            )
        ),
    ),
    ("not-policies", "request.resource.group != 'policybridge.io' || request.resource.resource != 'regopolicies'"),
)
_OF_AUTHORS = (
    "[object, oldObject].exists(one, one != null && has(one.metadata.labels) && "
    f"[{', '.join(map(repr, AUTHOR_LABELS))}].exists(label, label in one.metadata.labels))"
)
# If policies may be in every namespace, no namespace can be excluded for them.
POLICIES_ANYWHERE = (
    "not-config-maps-of-policies",
    (f"request.resource.group != '' || request.resource.resource != 'configmaps' || !{_OF_AUTHORS}"),
)

MODULES = "modules."  # the beginning of the name of a webhook for changes of modules
_MODULE_RULES = (
    {"apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"], "scope": "*"},
    {"apiGroups": ["policybridge.io"], "apiVersions": ["*"], "resources": ["regopolicies"], "scope": "*"},
)
MODULE_CONDITIONS = (
    ("of-policies", f"request.resource.resource == 'regopolicies' || {_OF_AUTHORS}"),
    # A namespace that is being deleted takes its objects with it.
    ("not-of-a-namespace", "request.userInfo.username != 'system:serviceaccount:kube-system:namespace-controller'"),
)
OF_THE_HIERARCHY = "of-the-hierarchy"
# Beside the objects themselves, what writes labels of Namespaces and Services.
HIERARCHY_SUBRESOURCES = ("namespaces/status", "namespaces/finalize", "services/status")
# Objects of other groups that can change what is in effect: a backend, a Namespace with other labels, what takes
# policies along when it is deleted, and what describes them.
_BESIDE_POLICIES = (
    "(request.resource.group == '' && request.resource.resource == 'services')",
    (
        "(request.resource.group == '' && request.resource.resource == 'namespaces' && "
        "(object == null || oldObject == null || (has(object.metadata.labels) ? object.metadata.labels : {}) !="
        " (has(oldObject.metadata.labels) ? oldObject.metadata.labels : {})))"
    ),
    # The bridge's own CRDs are updated with it, perhaps while no bridge runs; no guardrail depends on them.
    (
        "(request.resource.group == 'apiextensions.k8s.io' && oldObject != null && "
        "(object == null || !request.name.endsWith('.policybridge.io')))"
    ),
    ("(request.resource.group == 'policybridge.io' && (object != null || request.resource.resource == 'policykinds'))"),
)
# The form of a policy of any group (GEP-713): the fields that name its targets.
_HAS_TARGETS = (
    "[object, oldObject].exists(one, one != null && has(one.spec) && type(one.spec) == map && "
    "(has(one.spec.targetRefs) || has(one.spec.targetRef) || has(one.spec.targetSelectors)))"
)


def of_the_hierarchy(policy_kinds: Iterable[str]) -> tuple[str, str]:
    """Return the condition of requests that guardrails judge: those that can change what is in effect.

    Policies of `policy_kinds` (`<group>/<Kind>`) need no targets, because they may select them by other fields.
    """
    kinds = ", ".join(json.dumps(kind.removeprefix("core")) for kind in sorted(policy_kinds))
    of_a_kind = f"(request.kind.group + '/' + request.kind.kind) in [{kinds}]"
    parts = (f"request.resource.group == '{GATEWAY_API}'", of_a_kind, *_BESIDE_POLICIES, _HAS_TARGETS)
    return OF_THE_HIERARCHY, " || ".join(parts)


def not_named(resources: Iterable[str]) -> tuple[str, str]:
    """Return the condition that excludes `resources` (`<plural>.<group>`), which another webhook reviews."""
    named = []
    for plural, _, group in (resource.partition(".") for resource in resources):
        name = plural.partition("/")[0]
        alone = "" if name == "*" else f" && request.resource.resource == {json.dumps(name)}"
        named.append(f"(request.resource.group == {json.dumps(group)}{alone})")
    return "not-named", f"!({' || '.join(named)})"


def namespace_of(url: str) -> str:
    """Return the namespace of the Service that a URL names, `<service>.<namespace>.svc`; "" for another host."""
    parts = (urlsplit(url).hostname or "").split(".")
    return parts[1] if len(parts) > 2 and parts[2] == "svc" else ""


@dataclass(frozen=True, slots=True)
class Target:
    """The address of the webhook: `url` (of the mutating one), or a Service `namespace/name` and `port`.

    `ca_bundle` (PEM) verifies the webhook's certificate; empty for one that is added later.
    """

    url: str = ""
    service: str = ""
    port: int = 443
    ca_bundle: bytes = b""

    def client_config(self, path: str) -> dict[str, Any]:
        """Return the clientConfig for the webhook at this path."""
        found: dict[str, Any] = {}
        if self.url:
            found["url"] = self.url.removesuffix(MUTATING_PATH) + path
        else:
            namespace, _, name = self.service.partition("/")
            found["service"] = {"namespace": namespace, "name": name, "path": path, "port": self.port}
        if self.ca_bundle:
            found["caBundle"] = base64.b64encode(self.ca_bundle).decode()
        return found


def rule_for(resource: str, which: Kind) -> dict[str, Any]:
    """Return the rule for one resource, `<plural>.<group>` (core: `<plural>`), and its writing subresources."""
    plural, _, group = resource.partition(".")
    resources = _with_subresources(plural, group)
    if which is VALIDATING and "/" not in plural:
        resources.append(f"{plural}/status")
        if group in {"", "*"}:
            more = METADATA_RESOURCES.items()
            resources += [
                name for of, names in more for name in names if of == plural or (plural == "*" and "/" in name)
            ]
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": resources, "scope": "*"}


def _with_subresources(plural: str, group: str) -> list[str]:
    core = group in {"", "*"}
    found = [plural]
    if "/" not in plural and not (core and plural == "pods"):
        found.append(f"{plural}/scale")
    if core and plural in {"pods", "*"}:
        found += POD_SUBRESOURCES
    return found


def webhook_configuration(  # noqa: PLR0913 - independent options of one document
    which: Kind,
    name: str,
    target: Target,
    *,
    exempt: Iterable[str],
    timeout: int,
    resources: Sequence[str] = (),
    policies: bool = True,
    conditions: Iterable[tuple[str, str]] = (),
    every_operation: bool = False,
    policy_namespaces: Collection[str] = (),
) -> dict[str, Any]:
    """Return a configuration of one of KINDS.

    `every_operation` adds a webhook for deletions and connections to the validating one, for a decision that gets whole
    AdmissionReviews. `policy_namespaces` (`*` for all) adds one for changes of modules there and of RegoPolicies; it
    never fails closed, so users can always change a policy while there is no bridge.

    `exempt` are namespaces whose objects are excluded. `resources` (`<plural>.<group>`) are the reviewed ones, by
    default every object; `policies` adds a second webhook for the other objects that guardrails judge, and to the
    validating configuration one for deletions that they judge. The policies are those of the presets' kinds, until a
    bridge adds others.
    `conditions` (names and CEL) apply in addition to CONDITIONS. failurePolicy is Ignore until a bridge finds that
    policies exist.
    """
    left_out = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted(set(exempt))}
    shared = tuple(conditions)

    def webhook(
        webhook_name: str,
        rules: Iterable[Mapping[str, Any]],
        *more: tuple[str, str],
        operations: Sequence[str] = ("CREATE", "UPDATE"),
    ) -> dict[str, Any]:
        return {
            "name": webhook_name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": target.client_config(which.path),
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {"matchExpressions": [left_out]},
            "matchConditions": [
                {"name": name, "expression": expression} for name, expression in (*CONDITIONS, *shared, *more)
            ],
            **({"reinvocationPolicy": "IfNeeded"} if which is MUTATING else {}),
            "rules": [{"operations": list(operations), **rule} for rule in rules],
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": timeout,
        }

    webhooks = [webhook(which.webhook, [rule_for(resource, which) for resource in resources or ["*.*"]])]
    every = {**rule_for("*.*", which), "resources": ["*"]}
    of_policies = of_the_hierarchy(preset_kinds(rego_root()))
    if resources and policies:
        written = {**every, "resources": ["*", *(HIERARCHY_SUBRESOURCES if which is VALIDATING else ())]}
        webhooks.append(webhook(f"policies.{which.webhook}", [written], of_policies, not_named(resources)))
    if policies and which is VALIDATING:
        webhooks.append(webhook(f"deletions.{which.webhook}", [every], of_policies, operations=["DELETE"]))
    if every_operation and which is VALIDATING:
        deleted = [{**rule_for(resource, which), "operations": ["DELETE"]} for resource in resources or ["*.*"]]
        connected = {"apiGroups": [""], "apiVersions": ["*"], "resources": [*CONNECTIONS], "scope": "*"}
        webhooks.append(webhook(f"requests.{which.webhook}", [*deleted, {**connected, "operations": ["CONNECT"]}]))
    if policy_namespaces and which is VALIDATING:
        modules = webhook(f"{MODULES}{which.webhook}", _MODULE_RULES, operations=["CREATE", "UPDATE", "DELETE"])
        there = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(policy_namespaces)}
        modules["namespaceSelector"] = {} if "*" in policy_namespaces else {"matchExpressions": [there]}
        modules["matchConditions"] = [{"name": at, "expression": text} for at, text in MODULE_CONDITIONS]
        webhooks.append(modules)
    return {
        "apiVersion": API_VERSION,
        "kind": which.kind,
        "metadata": {"name": name},
        "webhooks": webhooks,
    }


PERIOD = 0.25  # seconds between two checks whether policies exist, and of which kinds
AUDIT = 5.0  # seconds between two checks of the configurations, which others may change
RETRY = 1.0  # seconds until the next check after a failed one


@dataclass(slots=True)
class Keeper:
    """Keeps failurePolicy at Fail exactly while `policies_exist`, and the caBundle at `authority`, while `held`.

    `policies_exist` returns None while that is unknown. Policies of `policy_kinds` are reviewed; while there are none,
    they are unknown. `authority` (PEM) is that of a certificate which the bridge
    created; empty if others set the caBundle. Every webhook of both configurations `name` is updated.
    """

    client: KubeClient
    name: str
    held: Callable[[], bool]
    policies_exist: Callable[[], bool | None]
    policy_kinds: Callable[[], Collection[str]]
    authority: bytes = b""
    _trouble: dict[Kind, str] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Update the configurations, until cancelled."""
        clock = asyncio.get_running_loop().time
        kept: tuple[bool | None, Collection[str]] = (None, ())
        due = 0.0
        while True:
            wanted = (self.policies_exist(), self.policy_kinds())
            if self.held() and (wanted != kept or clock() >= due):
                done = [await self._keep(which, *wanted) for which in KINDS]
                kept = wanted
                due = clock() + (AUDIT if all(done) else RETRY)
            await asyncio.sleep(PERIOD)

    async def _keep(self, which: Kind, exist: bool | None, policy_kinds: Collection[str]) -> bool:
        path = f"/apis/{API_VERSION}/{which.plural}/{self.name}"
        try:
            found = await self.client.get(path)
            patch = differences(found, exist, policy_kinds, self.authority)
            if patch and self.held():  # the Lease may have been lost during the read
                await patch_parts(self.client, path, patch, found["metadata"]["resourceVersion"])
                log.info("webhook configuration written", kind=which.kind, name=self.name, policies_exist=exist)
        except Conflict:
            return False
        except KubeError as error:
            self._tell(which, error)
            return False
        self._trouble.pop(which, None)
        return True

    def _tell(self, which: Kind, error: KubeError) -> None:
        what = f"{which.kind} {self.name}"
        match error:
            case NotFound():
                why = f"{what} does not exist: apply what `pbctl admin webhook-config` prints"
            case Forbidden():
                why = f"{what}: grant the bridge's role get and patch on {which.plural}.{GROUP} ({error.message})"
            case Invalid():
                why = f"{what}: the API server rejected the update: {error}"
            case _:
                why = f"{what}: {error}"
        if why != self._trouble.get(which):
            self._trouble[which] = why
            log.warning("webhook configuration update failed", why=why)


def differences(
    found: dict[str, Any], exist: bool | None, policy_kinds: Collection[str], authority: bytes
) -> list[dict[str, Any]]:
    """Return the JSON Patch that updates a configuration; empty if it is up to date."""
    patch = []
    _, of_policies = of_the_hierarchy(policy_kinds)
    bundle = base64.b64encode(authority).decode()
    for index, webhook in enumerate(found.get("webhooks") or []):
        of_modules = str(webhook.get("name", "")).startswith(MODULES)
        policy = {True: "Fail", False: "Ignore", None: webhook.get("failurePolicy")}[None if of_modules else exist]
        if webhook.get("failurePolicy") != policy:
            patch.append({"op": "add", "path": f"/webhooks/{index}/failurePolicy", "value": policy})
        if authority and (webhook.get("clientConfig") or {}).get("caBundle") != bundle:
            patch.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle})
        for number, condition in enumerate(webhook.get("matchConditions") or []):
            if policy_kinds and condition["name"] == OF_THE_HIERARCHY and condition["expression"] != of_policies:
                place = f"/webhooks/{index}/matchConditions/{number}/expression"
                patch.append({"op": "replace", "path": place, "value": of_policies})
    return patch
