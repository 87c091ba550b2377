"""The tenants: a well-behaved one, which measures what it gets, and others, which change their objects at random."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import aiohttp

from tests.cluster import path_of
from tests.controlplane.api import ApiError, ApiServer
from tests.figures import percentile
from tests.properties.small_world import SmallWorld
from tests.soak.hostile_objects import GATEWAY_API, GROUP, SHARED, Object, make_object

QUIET = "quiet"  # the namespace of the well-behaved tenant
FORBIDDEN = "forbidden"  # a label that the Constraint of the soak refuses
_PAUSE = 0.2  # seconds between two measurements, and between two changes
_POLL = 0.02
_GIVE_UP = 60.0  # seconds; what takes longer counts as that long
_ROUTES = f"/apis/{GATEWAY_API}/v1/namespaces/{QUIET}/httproutes"
_POLICY = f"/apis/{GROUP}/v1/namespaces/{QUIET}/limitpolicies"
_MERGE = "application/merge-patch+json"
_OF_ADMINS = {"PolicyKind", "Namespace", "GatewayClass"}  # kinds that no tenant may change


@dataclass
class Measured:
    """Seconds until a `status` is written, and until a request passes `admission`; wrong answers, a line each."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"status": [], "admission": []})
    wrong: list[str] = field(default_factory=list)

    def p99(self, kind: str) -> float:
        """Return the p99; 0 if nothing was measured."""
        return percentile(self.seconds[kind] or [0.0], 0.99)

    def __str__(self) -> str:
        """Return the p99 of each."""
        return ", ".join([*(f"{kind} {self.p99(kind):.2f} s" for kind in self.seconds), f"{len(self.wrong)} wrong"])


class WellBehaved:
    """The tenant. Its requests to the API server use few connections, as a controller's do."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.measured = Measured()
        self._session = session
        self._changes = 0

    async def prepare(self) -> None:
        """Create its objects."""
        await self._send("POST", _ROUTES, _route("cart"))
        spec = {"targetRefs": [{"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart"}]}
        await self._send("POST", _POLICY, make_object(f"{GROUP}/v1", "LimitPolicy", "cart", QUIET, spec=spec))

    async def run(self) -> None:
        """Measure until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for measure in (self._change_the_policy, self._have_routes_admitted):
                tasks.create_task(self._repeat(measure))

    async def _repeat(self, measure: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await measure()
            except (aiohttp.ClientError, TimeoutError) as error:
                self.measured.wrong.append(f"no answer: {error!r}")
            await asyncio.sleep(_PAUSE)

    async def _change_the_policy(self) -> None:
        """Measure the seconds from the response to a change until the status describes it."""
        self._changes += 1
        status, answer = await self._send("PATCH", f"{_POLICY}/cart", {"spec": {"requests": self._changes}}, _MERGE)
        if status != HTTPStatus.OK:
            self.measured.wrong.append(f"a change of the policy: {status} {str(answer)[:300]}")
            return
        generation = answer["metadata"]["generation"]
        began = time.monotonic()
        while not _is_programmed(answer, generation) and time.monotonic() - began < _GIVE_UP:
            await asyncio.sleep(_POLL)
            _, answer = await self._send("GET", f"{_POLICY}/cart")
        self.measured.seconds["status"].append(time.monotonic() - began)
        if not _is_programmed(answer, generation):
            self.measured.wrong.append(f"no status for generation {generation} after {_GIVE_UP:.0f} s")

    async def _have_routes_admitted(self) -> None:
        """Measure the seconds of a request that the webhook allows, and of one that it denies."""
        for labels, wanted in (({}, HTTPStatus.CREATED), ({FORBIDDEN: "true"}, HTTPStatus.FORBIDDEN)):
            route = _route("wanted")
            route["metadata"]["labels"] = labels
            began = time.monotonic()
            status, answer = await self._send("POST", f"{_ROUTES}?dryRun=All", route)
            self.measured.seconds["admission"].append(time.monotonic() - began)
            if status != wanted:
                self.measured.wrong.append(f"admission answered {status}, not {wanted}: {str(answer)[:300]}")

    async def _send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        headers, timeout = {"Content-Type": content_type}, aiohttp.ClientTimeout(total=_GIVE_UP)
        async with self._session.request(method, path, json=body, headers=headers, timeout=timeout) as answer:
            return answer.status, await answer.json(content_type=None)


def _is_programmed(policy: Object, generation: int) -> bool:
    conditions = policy.get("status", {}).get("conditions", [])
    return any(one["type"] == "Programmed" and one.get("observedGeneration") == generation for one in conditions)


def _route(name: str) -> Object:
    spec = {"parentRefs": [dict(SHARED)], "rules": [{"backendRefs": [{"name": "cart", "port": 80}]}]}
    return make_object(f"{GATEWAY_API}/v1", "HTTPRoute", name, QUIET, spec=spec)


class ChangingTenants:
    """Random changes of routes, Gateways, Services, grants and policies in three namespaces."""

    def __init__(self, api: ApiServer, seed: int) -> None:
        self.changes = 0
        self.refused = 0  # by the API server, which knows more of objects than what makes them here
        self._api = api
        self._world = SmallWorld(seed)

    def prepare(self) -> None:
        """Create the first objects."""
        for obj in self._world.objects.values():
            self._apply(obj)

    async def run(self) -> None:
        """Change objects until cancelled."""
        while True:
            before = dict(self._world.objects)
            _, key, obj = self._world.step()
            if key.kind not in _OF_ADMINS:
                await asyncio.to_thread(self._apply if obj else self._delete, obj or before[key])
                self.changes += 1
            await asyncio.sleep(_PAUSE)

    def _apply(self, obj: Object) -> None:
        # The rest of the metadata is the API server's.
        metadata = {name: value for name, value in obj["metadata"].items() if name in {"name", "namespace", "labels"}}
        try:
            self._api.apply(path_of(obj), {**obj, "metadata": metadata})
        except ApiError:
            self.refused += 1

    def _delete(self, obj: Object) -> None:
        with contextlib.suppress(ApiError):  # the API server had refused it
            self._api.request("DELETE", path_of(obj))
