"""`/metrics`, as Prometheus collects it. No label has an object's name: there may be any number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

Counts = Callable[[], Mapping[str, int]]


class Metrics(Collector):
    """What is counted elsewhere, read when it is asked for. `placement` gives counts by what was done or told."""

    def __init__(self) -> None:
        self.placement: Counts = dict

    def collect(self) -> Iterable[Metric]:
        """The families of the moment."""
        placement = CounterMetricFamily(
            "policy_bridge_placement_events",
            "What placement did (judged, patched) or told of an object (the reason of its Event), by that.",
            labels=["event"],
        )
        for event, count in sorted(self.placement().items()):
            placement.add_metric([event], count)
        yield placement


def add_metrics(app: web.Application, metrics: Metrics) -> None:
    """Route `/metrics` in an application."""
    registry = CollectorRegistry()
    registry.register(metrics)

    async def collected(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app.router.add_get("/metrics", collected)
