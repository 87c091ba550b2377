"""How many requests to OPA one change takes, from its arrival until the statuses that follow from it are written."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.model.changes import Object
from bridge.model.keys import parse_key
from bridge.opa.client import Requests
from bridge.replicator import replicator as replicating
from tests.eventually import eventually
from tests.properties.test_incremental_statuses import Bridge, at_work
from tests.warm_opa import WarmOpa

SHOP = Path(__file__).parents[2] / "examples" / "shop"
POLICY = parse_key("example.com/ColorPolicy/shop/cart")
ROUTE = parse_key("gateway.networking.k8s.io/HTTPRoute/shop/cart")
MOST = 3  # requests: links, the write, and what follows from it


@asynccontextmanager
async def settled_shop(opa_path: Path) -> AsyncIterator[tuple[Bridge, Callable[[], Counter[str]]]]:
    """The shop, settled; the function counts the requests to OPA by name."""
    requests = Requests()
    texts = [path.read_text() for path in sorted(SHOP.glob("*.yaml"))]
    objects = [obj for text in texts for obj in yaml.safe_load_all(text) if obj]
    async with (
        WarmOpa(opa_path) as managed,
        at_work(managed.url, objects, requests) as bridge,
    ):
        while not bridge.sink.recall():  # noqa: ASYNC110 - written once a second, with queries of its own
            await asyncio.sleep(0.02)
        await bridge.settled()
        yield bridge, lambda: Counter({name: taken.count for name, taken in requests.seconds.items()})


def changed_policy(policy: Object) -> Any:
    """The policy with another color, in its next generation."""
    spec = {**policy["spec"], "defaults": {"strategy": "patch", "colors": {"accent": "pink"}}}
    return {**policy, "metadata": {**policy["metadata"], "generation": 7}, "spec": spec}


def shortened_route(route: Object) -> Any:
    """The route without its last rule, which Gateway policies reach no longer."""
    spec = {**route["spec"], "rules": route["spec"]["rules"][:-1]}
    return {**route, "metadata": {**route["metadata"], "generation": 7}, "spec": spec}


@pytest.mark.parametrize(
    ("key", "change", "written"),
    [
        (POLICY, changed_policy, {str(POLICY)}),
        (ROUTE, shortened_route, {str(POLICY), "example.com/ColorPolicy/infra/brand"}),
    ],
)
async def test_a_change_takes_three_requests_until_its_statuses_are_written(
    key: Any, change: Callable[[Object], Any], written: set[str], opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicating, "PROBE", 600.0)  # seconds: only the change is written
    async with settled_shop(opa_path) as (bridge, count):
        before, done = count(), len(bridge.sink.writes)
        bridge.put(change(bridge.source.objects[key]))
        await eventually(lambda: written <= {str(key) for key, _ in bridge.sink.writes[done:]}, pause=0)
        taken = count() - before
        assert taken["write"] == 1, taken
        assert taken.total() <= MOST, taken
