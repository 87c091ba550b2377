from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.runtime.metrics import Metrics, add_metrics


async def test_what_placement_counts_is_collected_as_it_is_at_the_moment() -> None:
    counts = {"judged": 2}
    metrics = Metrics()
    metrics.placement = lambda: counts
    app = web.Application()
    add_metrics(app, metrics)
    async with TestClient(TestServer(app)) as client:
        counts["NoDecision"] = 1
        answer = await client.get("/metrics")
        lines = (await answer.text()).splitlines()
    assert answer.status == 200
    assert 'policy_bridge_placement_events_total{event="judged"} 2.0' in lines
    assert 'policy_bridge_placement_events_total{event="NoDecision"} 1.0' in lines
