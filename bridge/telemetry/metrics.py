"""`/metrics` in Prometheus's format: counts in plain numbers, read at each scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isinf
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from bridge.model.histogram import Histogram
from bridge.telemetry.metric_families import FAMILIES, PREFIX, Family

Value = float | Histogram
Values = Value | Mapping[Any, Any]  # values by label: a string, or a tuple of strings for a family with several labels
Read = Callable[[], Values]


class Metrics(Collector):
    """The families of `bridge.telemetry.metric_families`; `read` sets the source of their values.

    A family without a source is exposed with its help text, and only with the samples that are known to be 0.
    """

    def __init__(self) -> None:
        self._read: dict[str, Read] = {}

    def read(self, name: str, values: Read) -> None:
        """Set the source of a family's values. Raises KeyError for an unknown name."""
        self._read[_BY_NAME[name].name] = values

    def collect(self) -> Iterator[Metric]:
        """Return the current families."""
        for family in FAMILIES:
            values = self._read[family.name]() if family.name in self._read else {}
            yield _family(family, _by_labels(family, values))


_BY_NAME = {family.name: family for family in FAMILIES}


def add_metrics(app: web.Application, metrics: Metrics) -> None:
    """Add `/metrics` to an application, with the process metrics of Prometheus's library."""
    registry = CollectorRegistry()
    registry.register(metrics)
    ProcessCollector(registry=registry)

    async def collected(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app.router.add_get("/metrics", collected)


def _by_labels(family: Family, values: Values) -> dict[tuple[str, ...], Value]:
    if not isinstance(values, Mapping):
        return {(): values}
    found: dict[tuple[str, ...], Value] = {(known,): 0.0 for known in family.values}
    for labels, value in sorted(values.items(), key=str):
        found[(labels,) if isinstance(labels, str) else tuple(labels)] = value
    return found


def _family(family: Family, samples: Mapping[tuple[str, ...], Value]) -> Metric:
    name = f"{PREFIX}{family.name}"
    match family.type:
        case "info":
            info = InfoMetricFamily(name, family.text, labels=())
            for labels in samples:
                info.add_metric((), dict(zip(family.labels, labels, strict=True)))
            return info
        case "histogram":
            histogram = HistogramMetricFamily(name, family.text, labels=family.labels)
            for labels, value in samples.items():
                if isinstance(value, Histogram):
                    buckets = [("+Inf" if isinf(bound) else repr(bound), count) for bound, count in value.cumulated()]
                    histogram.add_metric(labels, buckets, value.total)
            return histogram
    plain = (CounterMetricFamily if family.type == "counter" else GaugeMetricFamily)(
        name, family.text, labels=family.labels
    )
    for labels, value in samples.items():
        if not isinstance(value, Histogram):
            plain.add_metric(labels, value)
    return plain
