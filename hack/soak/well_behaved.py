"""A well-behaved tenant: it changes its policy, requests admission of objects, and measures both durations."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import aiohttp

from hack.figures import percentile, short, table
from hack.soak.hostile_objects import GATEWAY_API, GROUP, SHARED
from tests.controlplane.api import ApiServer

QUIET = "quiet"  # its namespace
FORBIDDEN = "forbidden"  # a label that the Constraint of the soak refuses
KINDS = ("status", "admission", "api_server")
STATUS_P99 = 2.0  # seconds
ADMISSION_P99 = 1.0
_PAUSE = 0.2  # seconds between two measurements
_POLL = 0.02
_GIVE_UP = 60.0  # seconds; what takes longer counts as that long
_ROUTES = f"/apis/{GATEWAY_API}/v1/namespaces/{QUIET}/httproutes"
_POLICY = f"/apis/{GROUP}/v1/namespaces/{QUIET}/limitpolicies"
_MERGE = "application/merge-patch+json"

Object = dict[str, Any]


@dataclass
class Measured:
    """Seconds of each kind, and errors, a line each."""

    status: list[float] = field(default_factory=list)
    admission: list[float] = field(default_factory=list)
    api_server: list[float] = field(default_factory=list)  # the same request for an object that no webhook sees
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return a readable form."""
        p99 = {kind: percentile(found, 0.99) for kind in KINDS if (found := getattr(self, kind))}
        return (
            "p99: "
            + ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in p99.items())
            + (f"; {len(self.wrong)} wrong answers")
        )

    def report(self, name: str) -> None:
        """Print figures; `name` is the phase."""
        rows = [
            [kind, *(short(value) for value in (percentile(found, 0.5), percentile(found, 0.99), max(found)))]
            for kind in KINDS
            if (found := getattr(self, kind))
        ]
        rows.append(["wrong answers", "", "", str(len(self.wrong))])
        print(table([f"{name}, seconds", "p50", "p99", "most"], rows))

    def missed(self) -> list[str]:
        """Return one line for each missed objective."""
        found = self.wrong[:10]
        for kind, bound in (("status", STATUS_P99), ("admission", ADMISSION_P99)):
            seen = getattr(self, kind)
            if not seen or percentile(seen, 0.99) > bound:
                p99 = f"{percentile(seen, 0.99):.2f} s" if seen else "not measured"
                found.append(f"{kind} latency p99 of the well-behaved tenant: {p99}, more than {bound} s")
        return found


class WellBehaved:
    """The tenant. Its requests to the API server use few connections, as a controller's do."""

    def __init__(self, api: ApiServer) -> None:
        self.measured = Measured()
        self._api = api
        self._session: aiohttp.ClientSession | None = None
        self._changes = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self._api.url,
            headers={"Authorization": f"Bearer {self._api.token}"},
            connector=aiohttp.TCPConnector(ssl=self._api.context),
            timeout=aiohttp.ClientTimeout(total=_GIVE_UP),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session:
            await self._session.close()

    def prepare(self) -> None:
        """Create its objects. Blocks."""
        spec = {"parentRefs": [dict(SHARED)], "hostnames": ["quiet.example.com"], "rules": [_rule()]}
        self._api.request("POST", _ROUTES, _object(f"{GATEWAY_API}/v1", "HTTPRoute", "cart", spec))
        ref = {"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart"}
        self._api.request("POST", _POLICY, _object(f"{GROUP}/v1", "LimitPolicy", "cart", {"targetRefs": [ref]}))

    def start_over(self) -> None:
        """Discard the measured values."""
        self.measured = Measured()

    async def run(self) -> None:
        """Measure until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for measure in (self._change_the_policy, self._have_an_object_admitted, self._ask_the_api_server_alone):
                tasks.create_task(self._again(measure))

    async def _again(self, measure: Any) -> None:
        while True:
            try:
                await measure()
            except (aiohttp.ClientError, TimeoutError) as error:
                self.measured.wrong.append(f"{measure.__name__.strip('_')}: {error!r}")
            await asyncio.sleep(_PAUSE)

    async def _change_the_policy(self) -> None:
        """Return the seconds from the response to a change until the status describes it."""
        self._changes += 1
        status, answer = await self._send("PATCH", f"{_POLICY}/cart", {"spec": {"requests": self._changes}}, _MERGE)
        if status != HTTPStatus.OK:
            self.measured.wrong.append(f"a change of the policy: {status} {str(answer)[:300]}")
            return
        generation = answer["metadata"]["generation"]
        began = time.monotonic()
        while not _is_about(answer, generation) and time.monotonic() - began < _GIVE_UP:
            await asyncio.sleep(_POLL)
            _, answer = await self._send("GET", f"{_POLICY}/cart")
        self.measured.status.append(time.monotonic() - began)
        if not _is_about(answer, generation):
            self.measured.wrong.append(f"no status for generation {generation} after {_GIVE_UP:.0f} s")

    async def _have_an_object_admitted(self) -> None:
        """Return the seconds of a request that the webhook allows, and of one that it denies."""
        spec = {"parentRefs": [dict(SHARED)], "rules": [_rule()]}
        for labels, wanted in (({}, HTTPStatus.CREATED), ({FORBIDDEN: "true"}, HTTPStatus.FORBIDDEN)):
            route = _object(f"{GATEWAY_API}/v1", "HTTPRoute", "wanted", spec)
            route["metadata"]["labels"] = labels
            began = time.monotonic()
            status, answer = await self._send("POST", f"{_ROUTES}?dryRun=All", route)
            self.measured.admission.append(time.monotonic() - began)
            if status != wanted:
                self.measured.wrong.append(f"admission answered {status}, not {wanted}: {str(answer)[:300]}")

    async def _ask_the_api_server_alone(self) -> None:
        body = {**_object("v1", "ConfigMap", "wanted", {}), "data": {}}
        began = time.monotonic()
        await self._send("POST", f"/api/v1/namespaces/{QUIET}/configmaps?dryRun=All", body)
        self.measured.api_server.append(time.monotonic() - began)

    async def _send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        assert self._session is not None
        headers = {"Content-Type": content_type}
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)


def _is_about(policy: Object, generation: int) -> bool:
    conditions = policy.get("status", {}).get("conditions", [])
    return any(one["type"] == "Programmed" and one.get("observedGeneration") == generation for one in conditions)


def _rule() -> Object:
    return {"backendRefs": [{"name": "cart", "port": 80}]}


def _object(api_version: str, kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": QUIET}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | ({"spec": spec} if spec else {})
