"""The webhook configurations by which the API server sends requests here.

There are two. The mutating one gives objects their annotations. Another mutating webhook may change an object after
that, so the validating one has the same objects judged again, as they will be stored.

`Keeper` keeps them up to date: failurePolicy by whether policies exist, and our caBundle. With the bridge down the API
server decides by failurePolicy, so it states beforehand what the bridge would do.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import structlog

from bridge.admission.endpoint import MUTATING_PATH, VALIDATING_PATH
from bridge.kube.client import JSON_PATCH, KubeClient
from bridge.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound

log = structlog.get_logger(__name__)

GROUP = "admissionregistration.k8s.io"
API_VERSION = f"{GROUP}/v1"


class Kind(NamedTuple):
    """A kind of webhook configuration, its name in URLs, the name of our webhook in it, and the path that it calls."""

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
# Subresources by which the spec of a Pod is written, as that of others is by `scale`: a rule for the object itself does
# not cover them. Left out are statuses, which controllers report, and what writes no spec: bindings, evictions, tokens,
# finalizers, approvals.
POD_SUBRESOURCES = ("pods/ephemeralcontainers", "pods/resize")
SYSTEM_NAMESPACES = ("kube-system", "kube-node-lease")
# What must go on whatever policies say: the leases and events by which components live and tell, the API server's own
# questions, the resources that policies are written in, and what a Pod of the bridge itself cannot start without: nodes
# and their certificates, volumes as drivers attach them, addresses as the usual networks give them out.
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
    ("not-policies", "request.resource.group != 'policybridge.io' || request.resource.resource != 'regopolicies'"),
)
# Where policies may be in every namespace, no namespace can be left out for them.
POLICIES_ANYWHERE = (
    "not-config-maps-of-policies",
    (
        "request.resource.group != '' || request.resource.resource != 'configmaps' || ![object, oldObject].exists(one, "
        "one != null && has(one.metadata.labels) && ['openpolicyagent.org/policy', 'openpolicyagent.org/data']"
        ".exists(label, label in one.metadata.labels))"
    ),
)

# What a policy of any group looks like (GEP-713): the plural of its kind, and the fields that name its targets.
A_POLICY = (
    "a-policy",
    (
        "request.resource.resource.endsWith('policies') && object != null && has(object.spec) && "
        "type(object.spec) == map && "
        "(has(object.spec.targetRefs) || has(object.spec.targetRef) || has(object.spec.targetSelectors))"
    ),
)


def not_named(resources: Iterable[str]) -> tuple[str, str]:
    """Return the condition that leaves out `resources` (`<plural>.<group>`), which another webhook is asked about."""
    named = []
    for plural, _, group in (resource.partition(".") for resource in resources):
        name = plural.partition("/")[0]
        alone = "" if name == "*" else f" && request.resource.resource == {json.dumps(name)}"
        named.append(f"(request.resource.group == {json.dumps(group)}{alone})")
    return "not-named", f"!({' || '.join(named)})"


def not_secret(namespace: str, name: str) -> tuple[str, str]:
    """The condition that leaves out the Secret of the webhook's own certificate: without it the webhook cannot serve.

    It may stand in a namespace that is asked for, and must be made while nobody answers there.
    """
    where = f"request.namespace != {json.dumps(namespace)} || request.name != {json.dumps(name)}"
    return "not-the-certificate", f"request.resource.group != '' || request.resource.resource != 'secrets' || {where}"


def namespace_of(url: str) -> str:
    """The namespace of the Service that a URL names, `<service>.<namespace>.svc`; "" for another host."""
    parts = (urlsplit(url).hostname or "").split(".")
    return parts[1] if len(parts) > 2 and parts[2] == "svc" else ""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the API server finds the webhook: `url` (of the mutating one), or a Service `namespace/name` and `port`.

    `ca_bundle` (PEM) is what it verifies the webhook's certificate with; empty: the bridge puts its own authority in.
    """

    url: str = ""
    service: str = ""
    port: int = 443
    ca_bundle: bytes = b""

    def client_config(self, path: str) -> dict[str, Any]:
        """The clientConfig for the webhook at this path."""
        found: dict[str, Any] = {}
        if self.url:
            found["url"] = self.url.removesuffix(MUTATING_PATH) + path
        else:
            namespace, _, name = self.service.partition("/")
            found["service"] = {"namespace": namespace, "name": name, "path": path, "port": self.port}
        if self.ca_bundle:
            found["caBundle"] = base64.b64encode(self.ca_bundle).decode()
        return found


def rule_for(resource: str) -> dict[str, Any]:
    """The rule for one resource, `<plural>.<group>`, without a group for the core one, and its writing subresources."""
    plural, _, group = resource.partition(".")
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": _with_subresources(plural, group), "scope": "*"}


def _with_subresources(plural: str, group: str) -> list[str]:
    core = group in {"", "*"}
    found = [plural]
    if "/" not in plural and not (core and plural == "pods"):
        found.append(f"{plural}/scale")
    if core and plural in {"pods", "*"}:
        found += POD_SUBRESOURCES
    return found


def webhook_configuration(
    which: Kind,
    name: str,
    target: Target,
    *,
    exempt: Iterable[str],
    timeout: int,
    resources: Sequence[str] = (),
    policies: bool = True,
    conditions: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    """A configuration of one of KINDS.

    `exempt` are namespaces whose objects never come here. `resources` (`<plural>.<group>`) say what does come, without
    them every object that is made or changed; `policies` adds a second webhook for whatever looks like a policy, of any
    group. `conditions` (names and CEL) hold beside CONDITIONS of all that does. failurePolicy is Ignore until a bridge
    finds that policies exist.
    """
    left_out = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted(set(exempt))}
    shared = tuple(conditions)

    def webhook(webhook_name: str, rules: Iterable[Mapping[str, Any]], *more: tuple[str, str]) -> dict[str, Any]:
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
            "rules": [{"operations": ["CREATE", "UPDATE"], **rule} for rule in rules],
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": timeout,
        }

    webhooks = [webhook(which.webhook, [rule_for(resource) for resource in resources or ["*.*"]])]
    if resources and policies:
        every = {**rule_for("*.*"), "resources": ["*"]}
        webhooks.append(webhook(f"policies.{which.webhook}", [every], A_POLICY, not_named(resources)))
    return {
        "apiVersion": API_VERSION,
        "kind": which.kind,
        "metadata": {"name": name},
        "webhooks": webhooks,
    }


PERIOD = 0.25  # seconds between two looks at whether policies exist
AUDIT = 5.0  # seconds between two looks at the configurations, which others may change


class Keeper:
    """Keeps failurePolicy at Fail exactly while `policies_exist`, and the caBundle at `authority`, while `held`.

    `policies_exist` gives None while that is not known. `authority` gives empty bytes where the caBundle is not ours to
    set. Of both configurations `name` every webhook is kept.
    """

    def __init__(
        self,
        client: KubeClient,
        name: str,
        held: Callable[[], bool],
        policies_exist: Callable[[], bool | None],
        authority: Callable[[], bytes],
    ) -> None:
        self._client = client
        self._name = name
        self._held = held
        self._policies_exist = policies_exist
        self._authority = authority
        self._trouble: dict[Kind, str] = {}

    async def run(self) -> None:
        """Keep it, until cancelled."""
        clock = asyncio.get_running_loop().time
        kept: object = None
        due = 0.0
        while True:
            wanted = (self._policies_exist(), self._authority())
            if self._held() and (wanted != kept or clock() >= due):
                done = [await self._keep(which, *wanted) for which in KINDS]
                kept = wanted if all(done) else None
                due = clock() + AUDIT
                if kept is None:
                    await asyncio.sleep(1.0)
            await asyncio.sleep(PERIOD)

    async def _keep(self, which: Kind, exist: bool | None, authority: bytes) -> bool:
        path = f"/apis/{API_VERSION}/{which.plural}/{self._name}"
        try:
            found = await self._client.get(path)
            patch = differences(found, exist, authority)
            if patch and self._held():  # the Lease may have been lost while the API server was asked
                version = found["metadata"]["resourceVersion"]
                guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
                await self._client.patch(path, [guard, *patch], JSON_PATCH)
                log.info("wrote the webhook configuration", kind=which.kind, name=self._name, policies_exist=exist)
        except Conflict:
            return False
        except KubeError as error:
            self._tell(which, error)
            return False
        self._trouble.pop(which, None)
        return True

    def _tell(self, which: Kind, error: KubeError) -> None:
        what = f"{which.kind} {self._name}"
        match error:
            case NotFound():
                why = f"{what} does not exist: apply what `bridge webhook-config` prints"
            case Forbidden():
                why = f"{what}: grant the bridge's role get and patch on {which.plural}.{GROUP} ({error.message})"
            case Invalid():
                why = f"{what}: the API server does not accept it as it should be: {error}"
            case _:
                why = f"{what}: {error}"
        if why != self._trouble.get(which):
            self._trouble[which] = why
            log.warning("the webhook configuration is not kept", why=why)


def differences(found: dict[str, Any], exist: bool | None, authority: bytes) -> list[dict[str, Any]]:
    """The JSON Patch that makes a configuration what it has to be; empty where it is."""
    patch = []
    bundle = base64.b64encode(authority).decode()
    for index, webhook in enumerate(found.get("webhooks") or []):
        policy = {True: "Fail", False: "Ignore", None: webhook.get("failurePolicy")}[exist]
        if webhook.get("failurePolicy") != policy:
            patch.append({"op": "add", "path": f"/webhooks/{index}/failurePolicy", "value": policy})
        if authority and (webhook.get("clientConfig") or {}).get("caBundle") != bundle:
            patch.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle})
    return patch
