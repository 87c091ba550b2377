"""`make bench` prints the available figures, and which targets are met."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hack.bench import __main__ as bench
from hack.bench.against import name_of, rows
from hack.bench.aims import AIMS, Aim, report
from hack.bench.figures import FIGURES, figure


async def _works(routes: int) -> None:
    figure("explain_opa", 2.0, "ms", routes=routes)


async def _fails(_: int) -> None:
    raise RuntimeError("no OPA")


def test_part_that_fails_leaves_the_others_their_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "PARTS", {"opa": _fails, "requests": _works})
    monkeypatch.setattr("sys.argv", ["bench"])
    FIGURES.clear()
    with pytest.raises(SystemExit, match="failed: opa"):
        bench.main()
    said = capsys.readouterr()
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [(line["part"], line["failed"]) for line in lines if line.get("figure") == "part_took"] == [
        ("opa", True),
        ("requests", False),
    ]
    assert {"aim": "explain, OPA's time, p50 (ms)", "value": 2.0, "most": 2.5, "reached": True} in lines
    assert "RuntimeError: no OPA" in said.err
    assert said.err.count("not measured") == len(AIMS) - 1


def test_aim_is_judged_by_the_worst_figure_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    found: list[dict[str, Any]] = [
        {"figure": "took", "value": 1.0, "clients": 16, "judged": False},
        {"figure": "took", "value": 3.0, "clients": 16, "judged": True},
        {"figure": "took", "value": 9.0, "clients": 64},
    ]
    report(found, [Aim("the time", "took", 2.0, {"clients": 16})], whole=False)
    assert json.loads(capsys.readouterr().out) == {"aim": "the time", "value": 3.0, "most": 2.0, "reached": False}


def test_figures_of_two_commits_are_compared_by_name_and_conditions() -> None:
    slow: dict[str, Any] = {"figure": "explain_opa", "value": 4.0, "unit": "ms", "shape": "deep"}
    quick = {**slow, "value": 2.0, "shape": "flat"}
    work: dict[str, Any] = {"figure": "folder_tree", "value": 9.0, "unit": "s", "cpu": 3.0}
    before, now = (
        {name_of(one): one.get("cpu", one["value"]) for one in figures} for figures in ([slow, work], [quick])
    )
    assert [row.split() for row in rows([before, before], [{**now, name_of(slow): 1.0}])] == [
        ["explain_opa", "shape=deep", "ms", "4", "1", "0.25"],
        ["explain_opa", "shape=flat", "ms", "-", "2", "-"],
        ["folder_tree", "(s", "of", "processor", "time)", "3", "-", "-"],
    ]
