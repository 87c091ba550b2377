from __future__ import annotations

import io
import json

import pytest

from hack.rego_report import main


def _coverage(**lines: tuple[int, int]) -> str:
    files = {
        f"{name}.rego": {
            "covered_lines": covered,
            "not_covered_lines": missing,
            "not_covered": [{"start": {"row": row}, "end": {"row": row}} for row in range(1, missing + 1)],
        }
        for name, (covered, missing) in lines.items()
    }
    return json.dumps({"files": files})


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr("sys.argv", ["rego_report", "--threshold", "90"])
    return monkeypatch


def test_lines_of_tests_do_not_count(report: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    report.setattr("sys.stdin", io.StringIO(_coverage(route=(8, 2), route_test=(90, 0))))
    assert main() == 1
    said = capsys.readouterr().err
    assert "80.0 % of 10 lines are covered, 90 % are wanted" in said
    assert "route.rego: lines 1-2" in said


def test_enough_coverage_is_one_line(report: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    report.setattr("sys.stdin", io.StringIO(_coverage(route=(19, 1))))
    assert main() == 0
    assert capsys.readouterr().out == "rego: 95.0 % of 20 lines in 1 files are covered\n"


def test_failed_tests_are_passed_on(report: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    report.setattr("sys.stdin", io.StringIO("data.x.test_y: FAIL (1ms)\nFAIL: 1/1\n"))
    assert main() == 1
    assert "data.x.test_y: FAIL" in capsys.readouterr().err
