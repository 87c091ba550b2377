"""`/metrics`: what is counted elsewhere gets its name, its labels, and a place on a page that Prometheus reads."""

import asyncio
import re
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.model.observability import Histogram
from bridge.telemetry.metrics import FAMILIES, Metrics, add_metrics
from hack.tools import find


async def page_of(metrics: Metrics) -> list[str]:
    app = web.Application()
    add_metrics(app, metrics)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/metrics")
        assert answer.status == 200
        return (await answer.text()).splitlines()


async def test_counts_are_collected_as_they_are_at_the_moment() -> None:
    counts = {"judged": 2}
    metrics = Metrics()
    metrics.read("placement_events", lambda: counts)
    assert 'policy_bridge_placement_events_total{event="judged"} 2.0' in await page_of(metrics)
    counts["NoDecision"] = 1
    assert 'policy_bridge_placement_events_total{event="NoDecision"} 1.0' in await page_of(metrics)


async def test_every_possible_label_is_there_with_0_from_the_start() -> None:
    assert 'policy_bridge_admission_requests_total{outcome="failed-open"} 0.0' in await page_of(Metrics())


async def test_several_labels_are_a_tuple_and_none_a_number() -> None:
    metrics = Metrics()
    metrics.read("status_writes", lambda: {("status", "written"): 3})
    metrics.read("leader", lambda: True)
    lines = await page_of(metrics)
    assert 'policy_bridge_status_writes_total{result="written",writer="status"} 3.0' in {
        *lines,
        *(line.replace('writer="status",result="written"', 'result="written",writer="status"') for line in lines),
    }
    assert "policy_bridge_leader 1.0" in lines


async def test_a_histogram_has_buckets_that_add_up() -> None:
    lag = Histogram((0.1, 1.0))
    lag.observe(0.1)
    for seconds in (0.5, 0.5, 7):
        lag.observe(seconds)
    metrics = Metrics()
    metrics.read("replication_lag_seconds", lambda: lag)
    found = [line for line in await page_of(metrics) if line.startswith("policy_bridge_replication_lag_seconds")]
    assert found == [
        'policy_bridge_replication_lag_seconds_bucket{le="0.1"} 1.0',
        'policy_bridge_replication_lag_seconds_bucket{le="1.0"} 3.0',
        'policy_bridge_replication_lag_seconds_bucket{le="+Inf"} 4.0',
        "policy_bridge_replication_lag_seconds_count 4.0",
        "policy_bridge_replication_lag_seconds_sum 8.1",
    ]


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(KeyError):
        Metrics().read("lag", lambda: 0)


async def test_every_family_is_exposed_with_its_description() -> None:
    lines = await page_of(Metrics())
    for family in FAMILIES:
        assert f"# HELP {family.exposed} {family.text}" in lines


def test_every_family_has_a_source() -> None:
    texts = (file.read_text() for file in Path("bridge").rglob("*.py"))
    read = {name for text in texts for name in re.findall(r'metrics\.read\("(\w+)"', text)}
    assert read == {family.name for family in FAMILIES}


@pytest.mark.needs("promtool")
async def test_promtool_finds_nothing_to_improve() -> None:
    page = "\n".join(line for line in await page_of(Metrics()) if "policy_bridge_" in line) + "\n"
    promtool = find("promtool")
    assert promtool
    checking = await asyncio.create_subprocess_exec(
        promtool.path, "check", "metrics", stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    said, _ = await checking.communicate(page.encode())
    assert (checking.returncode, said.decode()) == (0, "")
