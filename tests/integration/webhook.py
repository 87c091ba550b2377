"""A webhook at work for tests: a real OPA, a real API server, and what the test says of policies."""

import asyncio
import json
import operator
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import aiohttp

from bridge.admission.admission import Policies
from bridge.admission.webhook_configuration import API_VERSION, KINDS, MUTATING, Kind, Target, webhook_configuration
from bridge.http.bundles import Tokens
from bridge.kube.kube_client import KubeClient
from bridge.kube.lease import FencedClient, Lease
from bridge.opa.bundle import Bundle, build_bundle
from bridge.opa.client import Answer
from bridge.opa.process import ManagedOpa
from bridge.queries.judged_change import ChangeJudge
from bridge.settings.loading import load_settings
from bridge.sidecar.managed_opa import OpaAccess
from bridge.sidecar.webhook import Webhook
from tests.builders import resource
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import fresh_name
from tests.ports import free_port

# In place of the shipped rules, which OPA compiles for seconds at each start and for each policy that a test puts.
BUNDLE = build_bundle(
    {
        "admission.rego": """package bridge.v1

admission := {"denied": [], "warnings": []}

admission_without_effects := found if {
	found := admission with input as input.request
}
"""
    },
    {},
    ["bridge"],
)
CONFIGURATIONS = {which: f"/apis/{API_VERSION}/{which.plural}" for which in KINDS}
# An OPA that gives decisions an id: see bridge.opa.bundle.
DECISION_IDS = {
    "services": {"bridge": {"url": "http://127.0.0.1:1"}},
    "decision_logs": {
        "service": "bridge",
        "reporting": {"trigger": "manual", "buffer_type": "event", "buffer_size_limit_events": 1},
    },
}
PLACEMENT = """package io.k8s.federation.admission

annotations["example.com/clusters"] := {"gce-europe-west1": {"weight": 1}} if input.metadata.labels.region == "eu"

annotations["example.com/wanted"] := input.data.wanted

errors contains sprintf("%s may not be here", [input.metadata.name]) if input.metadata.labels.region == "nowhere"

warnings contains "no region is chosen" if not input.metadata.labels.region
"""


@dataclass(slots=True)
class Facts:
    """The state of the webhook, set by a test."""

    exist: bool | None = True
    distrust: str = ""
    held: bool = True
    left: float = 60.0  # seconds of a term that is held
    events: list[tuple[str, str, str]] = field(default_factory=list)  # object, reason, message

    def record(self, regarding: Mapping[str, Any], event_type: str, reason: str, message: str) -> None:
        """Keep an Event."""
        self.events.append((regarding["metadata"].get("name", ""), reason, message))


@dataclass(slots=True)
class StatedPolicies(Policies):
    """The policies that `facts` state; decisions of modules with another `revision` are ignored."""

    facts: Facts
    revision: str = ""  # none: every one counts

    def exist(self, decision: str) -> bool | None:
        """Return what the facts state."""
        return self.facts.exist

    def distrust(self, answer: Answer) -> str:
        """Return what the facts state, or that OPA has other modules."""
        same = not self.revision or answer.revision == self.revision
        return self.facts.distrust or ("" if same else "OPA has other modules")


@dataclass(slots=True)
class AtWork:
    """A webhook that serves at `port`, whose configuration is `name`."""

    plane: ControlPlane
    opa: ManagedOpa
    facts: Facts
    webhook: Webhook
    port: int
    name: str
    kubectl_path: Path
    namespace: str
    task: asyncio.Task[None] | None = None
    opa_runs: bool = True

    async def reset(self) -> None:
        """As it was at first."""
        if not self.opa_runs:
            await self.opa.start()
            self.opa_runs = True
        await self.put_policy(PLACEMENT)
        self.facts.exist, self.facts.held, self.facts.distrust = True, True, ""
        self.facts.events.clear()
        if self.task is None or self.task.done():
            await self.start()
        await self.until("Fail")

    async def stop_opa(self) -> None:
        """OPA is down."""
        await self.opa.stop()
        self.opa_runs = False

    async def start(self) -> None:
        """Serve, from now on."""
        self.task = asyncio.create_task(self.webhook.run())
        async with asyncio.timeout(300):
            while self.webhook.readiness():
                assert not self.task.done(), self.task
                await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """Serve no more."""
        if self.task:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    async def put_policy(self, text: str, name: str = "placement") -> None:
        """Give OPA a module, empty text: take it away."""
        url = f"{self.opa.url}/v1/policies/{name}"
        method = "PUT" if text else "DELETE"
        async with aiohttp.ClientSession() as session, session.request(method, url, data=text or None) as answer:
            assert answer.status == 200, await answer.text()

    async def kubectl(self, *arguments: str, text: str = "") -> tuple[int, str, str]:
        """Run kubectl in the test's namespace: its exit code, what it said and what it said on standard error."""
        kubectl = Kubectl(self.kubectl_path, self.plane)
        done = await asyncio.to_thread(kubectl.run, f"--namespace={self.namespace}", *arguments, text=text)
        return done.returncode, done.stdout, done.stderr

    async def apply(self, name: str, labels: Mapping[str, str] = {}, *more: str, **data: str) -> tuple[int, str]:
        """Apply a ConfigMap as a person does: kubectl's exit code and what it said on standard error."""
        document = resource("v1", "ConfigMap", name, self.namespace, metadata={"labels": dict(labels)}, data=data)
        code, _, said = await self.kubectl("apply", *more, "-f", "-", text=json.dumps(document))
        return code, said

    async def make(self, labels: Mapping[str, str]) -> dict[str, Any]:
        """Make a ConfigMap of any name by the API alone, which is faster: the object. Raises ApiError."""
        document = resource("v1", "ConfigMap", fresh_name("map"), metadata={"labels": dict(labels)})
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        made: dict[str, Any] = await asyncio.to_thread(self.plane.api.request, "POST", path, document)
        return made

    async def annotations(self, name: str) -> dict[str, str]:
        """The annotations of a ConfigMap, without kubectl's own."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{name}"
        found = (await asyncio.to_thread(self.plane.api.get, path))["metadata"].get("annotations") or {}
        return {key: value for key, value in found.items() if not key.startswith("kubectl.")}

    async def configuration(self, which: Kind = MUTATING) -> dict[str, Any]:
        """The webhook of a configuration as it is."""
        found: dict[str, Any] = await asyncio.to_thread(self.plane.api.get, f"{CONFIGURATIONS[which]}/{self.name}")
        return found["webhooks"][0]  # type: ignore[no-any-return]

    async def until(self, failure_policy: str) -> None:
        """Wait until both configurations have this failurePolicy."""
        for which in KINDS:
            await eventually(partial(self.configuration, which), lambda found: found["failurePolicy"] == failure_policy)


@asynccontextmanager
async def webhook_at_work(
    plane: ControlPlane,
    opa_path: Path,
    kubectl_path: Path,
    namespace: str,
    bundle: Bundle = BUNDLE,
    port: int = 0,
    resources: Sequence[str] = ("configmaps",),
    **settings: Any,
) -> AsyncIterator[AtWork]:
    """A webhook, at a free port if none is given, that the API server asks for some resources of one namespace."""
    port = port or free_port()
    name = f"test-{namespace}"
    flags = {
        "webhook_listen": f"127.0.0.1:{port}",
        "webhook_url": f"https://127.0.0.1:{port}/admission",
        "webhook_configuration": name,
        "webhook_deadline": 3.0,
        **settings,
    }
    facts = Facts()
    opa = ManagedOpa(opa_path, DECISION_IDS, bundle=bundle, port=free_port())

    async with await KubeClient.connect(str(plane.kubeconfig), None) as client, opa:
        policies = StatedPolicies(facts, bundle.revision)
        configured = load_settings(None, flags, {})
        webhook = Webhook(
            configured,
            OpaAccess(opa.url, configured, Tokens(None, None, operator.attrgetter("content"))),
            policies,
            facts.record,
            ChangeJudge(configured).judge,
            FencedClient(client, cast("Lease", facts)),
        )
        work = AtWork(plane, opa, facts, webhook, port, name, kubectl_path, namespace)
        await work.put_policy(PLACEMENT)
        for which, path in CONFIGURATIONS.items():
            document = _configuration(which, name, port, namespace, resources)
            await asyncio.to_thread(plane.api.request, "POST", path, document)
        try:
            await work.start()
            yield work
        finally:
            await work.stop()
            for path in CONFIGURATIONS.values():
                await asyncio.to_thread(plane.api.request, "DELETE", f"{path}/{name}")


def _configuration(which: Kind, name: str, port: int, namespace: str, resources: Sequence[str]) -> dict[str, Any]:
    target = Target(url=f"https://127.0.0.1:{port}/admission")
    document = webhook_configuration(
        which, name, target, exempt=["kube-system"], timeout=5, resources=resources, policies=False
    )
    selector = document["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    selector.append({"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace, "kube-system"]})
    for rule in document["webhooks"][0]["rules"]:
        rule["scope"] = "*" if "namespaces" in rule["resources"] else "Namespaced"
    return document
