"""What the page draws and follows where one object spoils a query: the others are shown, and nothing loops."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.web.picture_updates import Drawing
from tests.builders import backends, http_route, policy, policy_kind, service, target_ref
from tests.bundles import bundle_with
from tests.eventually import eventually
from tests.properties.test_incremental_pictures import looking
from tests.properties.test_incremental_statuses import Bridge
from tests.warm_opa import WarmOpa

GROUP = "gateway.networking.k8s.io"
# Rego has no catch: two values for one rule fail each query that makes the links of this route.
CONFLICT = """package bridge.extensions.hierarchy.conflict

_value := 1 if input.object.spec.hostnames[0] == "conflict.example.com"

_value := 2 if input.object.spec.hostnames[0] == "conflict.example.com"

links contains ["example.com/Thing/shop/thing", "core/Service/shop/cart"] if _value > 0
"""


def route(name: str, hostname: str, backend: str = "cart") -> Object:
    rule = {"name": "all", **backends(backend, port=None)}
    version = {"resourceVersion": "1"}
    return http_route(name, parents=(), rules=[rule], spec={"hostnames": [hostname]}, metadata=version)


def with_hostname(obj: Object, hostname: str) -> Object:
    changed = copy.deepcopy(obj)
    changed["metadata"]["resourceVersion"] += "0"
    changed["spec"]["hostnames"] = [hostname]
    return changed


@asynccontextmanager
async def drawn(opa_path: Path, objects: list[Object], remediator: Any = None) -> AsyncIterator[tuple[Bridge, Drawing]]:
    """A bridge with these objects, whose picture is open and whose routes are followed."""
    async with (
        WarmOpa(opa_path, bundle=bundle_with([CONFLICT])) as managed,
        looking(managed.url, objects, remediator) as seen,
    ):
        await asyncio.wait_for(seen.drawing.whole.wait(), 300)
        yield seen.bridge, seen.drawing


async def test_object_that_spoils_a_query_is_left_out_and_the_picture_follows_the_others(opa_path: Path) -> None:
    good, bad = route("good", "a.example.com"), route("bad", "b.example.com")
    with capture_logs() as logs:
        async with drawn(opa_path, [good, bad]) as (bridge, drawing):
            bridge.source.put(with_hostname(bad, "conflict.example.com"))
            bridge.source.put(route("later", "c.example.com"))
            await eventually(lambda: f"{GROUP}/HTTPRoute/shop/later" in drawing.picture)
            assert f"{GROUP}/HTTPRoute/shop/good" in drawing.picture
            await asyncio.sleep(2)  # several times as long as a retry would wait
            assert f"{GROUP}/HTTPRoute/shop/bad" not in drawing.picture  # OPA does not have it
            assert bridge.replicator.rejected[f"{GROUP}/HTTPRoute"] == 1
            assert not [log for log in logs if log.get("query") == "outdated"]
            bridge.source.put(with_hostname(with_hostname(bad, ""), "d.example.com"))
            bridge.source.put(route("last", "e.example.com"))
            await eventually(lambda: f"{GROUP}/HTTPRoute/shop/last" in drawing.picture)
    events = {log["event"] for log in logs}
    assert not events & {"result failed", "result waiting for OPA", "changes waiting for OPA"}


class Counting:
    """Stands in for a remediator that is computing everything until `finish`."""

    is_complete = False

    def follow(self, follower: Callable[[frozenset[str]], None]) -> None:
        """Report to `follower`."""
        self.follower = follower

    def tallies(self, policy: str) -> list[Any]:
        """Return the outcomes that are counted: none."""
        return []

    def finish(self) -> None:
        """Report that everything is counted."""
        self.is_complete = True
        self.follower(frozenset())


async def test_policy_has_no_outcome_before_all_are_counted(opa_path: Path) -> None:
    target = {"group": "", "kind": "Service"}
    version = {"resourceVersion": "1"}
    kind = policy_kind("HuePolicy")
    kind["spec"] |= {"class": "Direct", "targets": [target]}
    kind["metadata"] |= version
    hue = policy("HuePolicy", "hue", [target_ref("Service", "cart")], metadata=version, hue="red")
    key, remediator = str(key_of(hue)), Counting()
    async with drawn(opa_path, [kind, hue, service("cart", metadata=version)], remediator) as (_, drawing):
        await eventually(lambda: key in drawing.policies)
        assert drawing.policies[key]["outcome"] == ""
        assert {condition["type"] for condition in drawing.policies[key]["conditions"]} == {"Accepted"}
        remediator.finish()
        await eventually(lambda: drawing.policies[key]["outcome"] == "NoScope")


async def test_route_with_an_impossible_backend_is_drawn_and_so_are_its_changes(opa_path: Path) -> None:
    odd = route("odd", "a.example.com", "../infra/gw")
    with capture_logs() as logs:
        async with drawn(opa_path, [route("good", "b.example.com"), odd]) as (bridge, drawing):
            assert f"{GROUP}/HTTPRoute/shop/odd" in drawing.picture
            bridge.source.put(with_hostname(odd, "c.example.com"))
            bridge.source.put(route("later", "d.example.com", "a#b"))
            await eventually(lambda: f"{GROUP}/HTTPRoute/shop/later" in drawing.picture)
            assert not any("/.." in key or "a#b" in key for key in drawing.picture.shown())
    assert not {log["event"] for log in logs} & {"result failed", "result waiting for OPA", "changes waiting for OPA"}
