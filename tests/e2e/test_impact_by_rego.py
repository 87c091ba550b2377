"""The impact of a policy that Rego reads beside those that meet at a target."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import target_ref
from tests.e2e.conftest import Run
from tests.e2e.serving import bridge_runs
from tests.e2e.tints import BASE, CART, GROUP, KIND, strategy, tint
from tests.in_process import run_with_opa

# A policy at nothing, whose value the strategy takes for all others, directly or by a library.
COMMON = f"{KIND}/shop/common"
STORED = f'data.objects["{GROUP}"].TintPolicy.shop'
DIRECT = f'object.get({STORED}, ["common", "spec", field], max(values))'
LIBRARY = f"""package acme.library

import data.objects

chosen(values) := object.get(objects["{GROUP}"].TintPolicy.shop, ["common", "spec", "a"], max(values))
"""
Ask = Callable[[], dict[str, Any]]


def _world(how: str) -> list[dict[str, Any]]:
    objects = [obj for obj in BASE if obj["metadata"]["name"] not in {"choose", "library"}]
    library = next(obj for obj in BASE if obj["metadata"]["name"] == "library")
    if how == "library":
        library = {**library, "data": {"library.rego": LIBRARY}}
    merging = strategy(DIRECT) if how == "strategy" else strategy()
    return [*objects, merging, library, tint("common", target_ref("HTTPRoute", "gone"), a=9)]


def _differences(found: list[dict[str, Any]]) -> list[Any]:
    return [[one["target"], one["before"]["spec"]["a"], one["after"]["spec"]["a"]] for one in found]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("strategy", [[CART, 9, 7]]),
        pytest.param("library", [[CART, 9, 7]], marks=pytest.mark.long),
        pytest.param("", [], marks=pytest.mark.long),
    ],
)
def test_impact_of_a_policy_that_a_strategy_reads(bridge: Run, tmp_path: Path, how: str, expected: list[Any]) -> None:
    (tmp_path / "world.yaml").write_text(yaml.safe_dump_all(_world(how)))
    deleted = json.loads(bridge("analyze", "--delete", COMMON, "--manifests", tmp_path, "-o", "json").stdout)
    assert _differences(deleted["effective"]) == expected
    found = json.loads(bridge("describe", COMMON, "--manifests", tmp_path, "-o", "json").stdout)["impact"]
    assert _differences(found["ifDeleted"]) == expected
    assert found["scopes"] == []


def test_impact_of_a_policy_that_a_strategy_reads_beside_a_running_opa_and_on_the_page(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "world.yaml").write_text(yaml.safe_dump_all(_world("library")))
    log = tmp_path / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", manifests, "--listen", "127.0.0.1:0") as served:
        found = json.loads(run_with_opa(served.opa_url, "describe", COMMON, "-o", "json").stdout)["impact"]
        assert _differences(found["ifDeleted"]) == [[CART, 9, 7]]
        body = json.dumps({"input": {"policy": COMMON}}).encode()
        with urllib.request.urlopen(f"{served.url.rstrip('/')}/api/query/impact", data=body) as answer:  # noqa: S310
            assert json.load(answer)["result"] == found
