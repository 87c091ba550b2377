"""Data of others in the same OPA: what a bridge never touches, whatever it does."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from bridge.model.changes import Listed, Listing
from bridge.model.keys import key_of
from bridge.opa.bundle import STATE
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import SETTINGS
from bridge.replicator import replicator
from tests.builders import service
from tests.eventually import eventually
from tests.integration.faulty_opa import FaultyOpa
from tests.integration.scripted import ScriptedSource
from tests.integration.test_replicator import POLICY_KIND, bridge, color, keys, route
from tests.integration.test_replicator_faults import keys_held
from tests.warm_opa import whole_bundle

OURS = {"objects", "facts", "index", "kinds", "kind_sets", STATE, "bridge", SETTINGS}
FOREIGN: dict[str, Any] = {
    "mine": {"a/b": {"~c": 1}, "": [1, 2], "objects": {"core": {}}},
    "object": {"core": {"Service": {"shop": {"a": "mine"}}}},
    "kubernetes": {"services": {"shop": {"cart": {"kind": "Service"}}}},
    "policies": ["one", {"two": None}],
    "bridge_stat": 7,
    "Ümläute": "yes",
}
POLICY = "package foreign\n\nallow if data.mine[_]"


async def foreign(opa: Opa) -> dict[str, Any]:
    """What OPA has beside the bridge's own documents."""
    return {name: value for name, value in (await opa.get("") or {}).items() if name not in OURS | {"foreign"}}


async def test_data_and_policies_of_others_stay_as_they_are(opa_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(replicator, "AUDIT", 0.2)
    objects = [service("cart"), route("one", "cart"), POLICY_KIND, color("red")]
    async with (
        ManagedOpa(opa_path, {}, bundle=whole_bundle()) as managed,
        FaultyOpa(managed.url).serving() as passing,
        Opa(managed.url) as direct,
    ):
        for name, value in FOREIGN.items():
            await direct.put(name.replace("~", "~0"), value)
        await put_policy(passing)
        async with bridge(passing.url, objects, owner="me:1", content="cluster rego") as one:
            await one.filled()
            assert await foreign(direct) == FOREIGN
            one.source.put(service("stock"), route("one", "stock"))
            one.source.delete(key_of(service("cart")))
            one.source.delete(key_of(POLICY_KIND))  # a type that is no longer replicated
            one.source.say(Listing("core/Namespace"), Listed("core/Namespace"))
            await one.notices.until_written()
            await eventually(lambda: "test.example.com/ColorPolicy" not in one.source.wanted)
            await one.notices.until_written()
            await asyncio.sleep(0.5)  # audits and looks
            assert await keys_held(managed.url) == keys(service("stock"), route("one"))
            assert await foreign(direct) == FOREIGN
            await direct.patch(
                [
                    {"op": "remove", "path": f"/{name}"}
                    for name in ("objects", "facts", "index", "kinds", "kind_sets", STATE)
                ]
            )
            await one.notices.until_filled()
            assert await foreign(direct) == FOREIGN
        for content in ("cluster rego", "cluster other-rego"):  # kept, and replaced
            async with bridge(passing.url, ScriptedSource([service("cart")]), owner="me:1", content=content) as again:
                await again.filled()
                assert await keys_held(managed.url) == keys(service("cart"))
                assert await foreign(direct) == FOREIGN
        roots = {operation["path"].split("/")[1] for patch in passing.patches for operation in patch}
        assert roots <= OURS - {"bridge"}
        assert await direct.get("foreign/allow") is True


async def put_policy(opa: FaultyOpa) -> None:
    """Put another client's Rego into an OPA."""
    async with opa._session.put(f"{opa.url}/v1/policies/foreign.rego", data=POLICY.encode()) as answer:
        assert answer.status == 200, msgspec.json.encode(await answer.text())
