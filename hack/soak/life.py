"""Random changes of a cluster during a soak: all objects that a bridge reads, of bounded size."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from typing import Any

from bridge.model.keys import Key
from hack.soak.comparing import Places
from tests.controlplane.api import ApiError, ApiServer
from tests.properties.small_world import GATEWAY_API, NAMESPACES, SmallWorld

POLICIES = "opa-policies"  # the namespace that ConfigMaps with Rego come from
ROUTES = 300  # names of routes beside the small world's; about half of them exist
SPARE = 3  # namespaces that come and go
MODULES = 4  # ConfigMaps with a value each
_AWAY = 0.3  # seconds between attempts to reach an API server
_NOT_FOUND = 404
_POLICY = {"openpolicyagent.org/policy": "rego"}
_LINKS = """package bridge.extensions.hierarchy.soak

links contains ["core/Service/shop/{name}", "example.com/Thing/shop/bucket"] if {{
	input.object.kind == "Thing"
	input.object.metadata.name == "bucket"
}}
"""


class Life:
    """Endless changes. `values` has the value of each active module, and whether an invalid version followed."""

    def __init__(self, api: ApiServer, places: Places, seed: int) -> None:
        self.changes = 0
        self.refused = 0  # by the API server, which knows more of objects than what makes them here
        self.values: dict[str, tuple[int, bool]] = {}
        self._api = api
        self._places = places
        self._seed = seed
        self._going = asyncio.Event()
        self._under_way = 0
        self._world = SmallWorld(seed)

    def prepare(self) -> None:
        """Create the namespaces and Gateways of all objects."""
        for name in (*NAMESPACES, POLICIES, "bulk"):
            self._api.apply(f"/api/v1/namespaces/{name}", _object("v1", "Namespace", name))
        for key, obj in self._world.objects.items():
            try:
                self._put(key, obj)
            except ApiError:
                self.refused += 1

    def works(self) -> list[Coroutine[Any, Any, None]]:
        """Change objects until cancelled, except during `rest`."""
        steps = ((self._step, 0.02), (self._route, 0.02), (self._module, 1.5), (self._namespace, 4.0))
        return [self._work(step, pause, number) for number, (step, pause) in enumerate(steps)]

    def resume(self) -> None:
        """Change objects from now on."""
        self._going.set()

    async def rest(self) -> None:
        """Change nothing until `resume`; return when no change is in progress."""
        self._going.clear()
        while self._under_way:  # noqa: ASYNC110 (they are threads)
            await asyncio.sleep(0.05)

    async def _work(self, step: Callable[[random.Random], None], pause: float, number: int) -> None:
        chance = random.Random(self._seed * 10 + number)
        while True:
            await self._going.wait()
            self._under_way += 1
            try:
                await asyncio.shield(asyncio.to_thread(step, chance))
                self.changes += 1
            except ApiError:
                self.refused += 1
            except OSError:
                await asyncio.sleep(_AWAY)
            finally:
                self._under_way -= 1
            await asyncio.sleep(chance.uniform(0, 2 * pause))

    def _step(self, chance: random.Random) -> None:
        _, key, obj = self._world.step()
        if obj is not None:
            self._put(key, obj)
        elif key.kind == "PolicyKind" and chance.random() < 0.7:
            return  # without them there are no statuses
        elif key.kind != "Namespace":  # no controller would empty it here
            self._delete(self._places.of(key))

    def _route(self, chance: random.Random) -> None:
        name = f"route-{chance.randrange(ROUTES)}"
        path = f"/apis/{GATEWAY_API}/v1/namespaces/bulk/httproutes/{name}"
        if chance.random() < 0.3:
            self._delete(path)
            return
        refs = [{"name": f"service-{number}", "port": 80} for number in range(chance.randrange(4))]
        parents = [{"name": chance.choice(("public", "inner")), "namespace": chance.choice(("infra", "shop"))}]
        spec = {"parentRefs": parents, "hostnames": ["shop.example.com"], "rules": [{"backendRefs": refs}]}
        self._api.apply(path, _object(f"{GATEWAY_API}/v1", "HTTPRoute", name, spec=spec))

    def _module(self, chance: random.Random) -> None:
        if chance.random() < 0.2:
            self._config_map("links", _LINKS.format(name=chance.choice(("cart", "stock"))))
            return
        name = f"value{chance.randrange(MODULES)}"
        value, _ = self.values.get(name, (0, False))
        if chance.random() < 0.2:
            self._config_map(name, f"package soak.{name}\n\nvalue := {value} if {{\n")
            self.values[name] = value, True
            return
        self._config_map(name, f"package soak.{name}\n\nvalue := {value + 1}\n")
        self.values[name] = value + 1, False

    def _config_map(self, name: str, text: str) -> None:
        body = {**_object("v1", "ConfigMap", name), "data": {"main.rego": text}}
        body["metadata"]["labels"] = _POLICY
        self._api.apply(f"/api/v1/namespaces/{POLICIES}/configmaps/{name}", body)

    def _namespace(self, chance: random.Random) -> None:
        """Create a namespace with a route, or delete one with its objects, as a cluster's controllers do."""
        name = f"spare-{chance.randrange(SPARE)}"
        path = f"/api/v1/namespaces/{name}"
        routes = f"/apis/{GATEWAY_API}/v1/namespaces/{name}/httproutes"
        try:
            there = self._api.get(path)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            self._api.apply(path, _object("v1", "Namespace", name))
            rules = [{"backendRefs": [{"name": "cart", "port": 80}]}]
            spec = {"parentRefs": [{"name": "public", "namespace": "infra"}], "rules": rules}
            self._api.apply(f"{routes}/one", _object(f"{GATEWAY_API}/v1", "HTTPRoute", "one", spec=spec))
            return
        self._api.request("DELETE", routes)
        self._delete(path)
        self._api.request("PUT", f"{path}/finalize", {**there, "spec": {"finalizers": []}, "metadata": {"name": name}})

    def _put(self, key: Key, obj: dict[str, Any]) -> None:
        # What only an API server gives, and what no longer counts once it is another's
        metadata = {name: value for name, value in obj["metadata"].items() if name in {"name", "namespace", "labels"}}
        self._api.apply(self._places.of(key), {**obj, "metadata": metadata})

    def _delete(self, path: str) -> None:
        with contextlib.suppress(ApiError):  # it is not there
            self._api.request("DELETE", path)


def _object(api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}
