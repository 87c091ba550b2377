"""Answers that are not certain: every command marks them, and none warns because of them."""

import json
from pathlib import Path

from tests.e2e.conftest import Run
from tests.kgateway import UNCERTAIN, WHY


def test_an_incomplete_outcome_is_marked_and_no_warning_comes_from_it(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "uncertain.yaml").write_text(UNCERTAIN)

    def ask(*words: str) -> str:
        answer = bridge(*words, "--manifests", tmp_path)
        assert (answer.returncode, answer.stderr) == (0, ""), answer
        return answer.stdout

    assert f"Overridden (incomplete)   Overridden on 1 path by harbor/fast (Patch defaults). Incomplete: {WHY}" in ask(
        "status"
    )
    assert ask("get", "policies").count("(incomplete)") == 2
    assert "TrafficPolicy/harbor/slow (incomplete)" in ask("tree").replace("\u00a0", " ")
    assert "(overridden)" not in ask("graph", "-o", "mermaid")
    found = json.loads(ask("problems", "-o", "json"))
    assert {one["subject"].rpartition("/")[2]: (one["reason"], one["enforcementAction"]) for one in found} == {
        "slow": ("Incomplete", "warn"),
        "fast": ("Incomplete", "warn"),
    }
    described = json.loads(ask("describe", "trafficpolicy/slow", "-o", "json"))
    assert described["status"]["incomplete"] == [WHY]
    (inherited,) = json.loads(ask("describe", "httproute/ferry", "-o", "json"))["policies"]["inherited"]
    assert (inherited["policy"].rpartition("/")[2], inherited["incomplete"]) == ("slow", [WHY])


def test_an_expectation_about_an_incomplete_outcome_fails(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "uncertain.yaml").write_text(UNCERTAIN)
    (tmp_path / "suite.yaml").write_text("""
apiVersion: test.policybridge.io/v1alpha1
kind: Suite
tests:
- {name: outcome, status: {TrafficPolicy/slow: {Programmed: Overridden}}}
- {name: accepted, status: {TrafficPolicy/slow: {Accepted: "True"}}}
- {name: none, problems: {TrafficPolicy/slow: []}}
""")
    answer = bridge("test", tmp_path, "-o", "json")
    assert answer.returncode == 1, answer.stderr
    outcome, accepted, none = json.loads(answer.stdout)
    assert any(f"the outcome is incomplete: {WHY}" in one for one in outcome["differences"])
    assert accepted["passed"]
    assert none["differences"] == ["TrafficPolicy/slow: problems: expected none, found Incomplete"]
