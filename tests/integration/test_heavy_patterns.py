"""OPA's memory and time for requests, whatever the patterns of routes compile to."""

import time
from pathlib import Path
from typing import Any

import pytest

from bridge.files import rego_root
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from tests.builders import gateway, http_route
from tests.processes import opa_below

BUNDLE = shipped_bundle(rego_root(), queries=["request"])
GATEWAY = gateway("edge")


def route(patterns: list[str]) -> dict[str, Any]:
    matches = [{"headers": [{"name": "x", "type": "RegularExpression", "value": one}]} for one in patterns]
    return http_route("hostile", parents=["edge"], rules=[{"name": "only", "matches": matches}])


@pytest.mark.parametrize(
    "patterns",
    [
        ["[a-k1]{1000}" * 85 + str(number) for number in range(200)],  # 20 MiB each
        [r"\pL{400}" + str(number) for number in range(400)],  # 3 MiB each
        [f"{number}(?i)[a-z]" + "{900}" for number in range(1000)],
        [f"/[a-k]{{200}}{number}" for number in range(1000)],  # few by itself, too many together
    ],
    ids=["repetitions", "unicode", "case", "many"],
)
async def test_request_takes_little_memory_and_time_and_reports_undecided_patterns(
    opa_path: Path, patterns: list[str]
) -> None:
    query_input = {"host": "a.example.com", "headers": {"x": "abc" * 50}}
    changes = {"upsert": [GATEWAY, route(patterns)]}
    async with ManagedOpa(opa_path, {}, bundle=BUNDLE) as managed, Opa(managed.url) as opa:
        await opa.query("request", {**query_input, "changes": {"upsert": [GATEWAY]}})
        before, began = peak_of(managed), time.perf_counter()
        answer = await opa.query("request", {**query_input, "changes": changes})
        assert time.perf_counter() - began < 10
        assert peak_of(managed) - before < 200  # MiB
    assert answer["rule"] is None
    assert [one["node"] for one in answer["undecided"]] == ["gateway.networking.k8s.io/HTTPRoute/shop/hostile#only"]


def peak_of(managed: ManagedOpa) -> float:
    """The most memory (MiB) that OPA has had."""
    assert managed.pid is not None
    (line,) = [
        line
        for line in Path(f"/proc/{opa_below(managed.pid)}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) / 1024
