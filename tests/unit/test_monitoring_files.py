"""Alert rules and dashboard: promtool accepts them, each alert has tests, and they query exposed metrics."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.telemetry.metrics import FAMILIES, PREFIX
from hack.tools import find

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "alerts" / "policy-bridge.rules.yaml"
TESTS = DEPLOY / "alerts" / "policy-bridge.tests.yaml"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "policy-bridge.json").read_text(encoding="utf-8"))
ALERTS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
EXPOSED = {family.exposed for family in FAMILIES}
HISTOGRAMS = {family.exposed for family in FAMILIES if family.type == "histogram"}


@pytest.fixture(scope="module")
def promtool() -> Path:
    found = find("promtool")
    assert found
    return found.path


def _run(*command: str | Path) -> tuple[int, str]:
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return answer.returncode, answer.stdout


def _unknown(expression: str) -> set[str]:
    names = set(re.findall(rf"\b{PREFIX}\w+", expression))
    series = {f"{name}{part}" for name in HISTOGRAMS for part in ("_bucket", "_sum", "_count")}
    return names - (EXPOSED - HISTOGRAMS) - series


@pytest.mark.needs("promtool")
def test_promtool_takes_the_rules(promtool: Path) -> None:
    code, said = _run(promtool, "check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert code == 0, said


@pytest.mark.needs("promtool")
def test_every_alert_fires_and_stays_quiet_as_its_tests_say(promtool: Path) -> None:
    code, said = _run(promtool, "test", "rules", TESTS)
    assert code == 0, said
    names = {test["name"] for test in yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]}
    assert names == {f"{alert['alert']} {does}" for alert in ALERTS for does in ("fires", "stays quiet")}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_uses_exposed_metrics_and_has_instructions(alert: dict[str, Any]) -> None:
    assert _unknown(alert["expr"]) == set()
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["description"]
    assert alert["labels"]["severity"] in {"warning", "critical"}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_dashboard_reads_exposed_metrics(query: str) -> None:
    assert _unknown(query) == set()


@pytest.mark.needs("promtool")
def test_every_query_of_the_dashboard_is_promql(promtool: Path, tmp_path: Path) -> None:
    rules = [
        {"record": f"query_{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(QUERIES)
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    code, said = _run(promtool, "check", "rules", "--lint=none", tmp_path / "rules.yaml")
    assert code == 0, said


def test_nearly_every_metric_is_on_the_dashboard_or_in_an_alert() -> None:
    requested = " ".join([*QUERIES, *(alert["expr"] for alert in ALERTS)])
    details = {"replication_batch_bytes", "opa_sync_duration_seconds", "settings_reloads_total"}
    assert {name for name in EXPOSED if name not in requested} == {f"{PREFIX}{name}" for name in details}


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
