"""`make bench` prints one table of the available figures, with their aims."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.bench import __main__ as bench
from hack.bench.table import Figures, printed
from hack.processes import Program


async def _works(_: Program, routes: int, __: Path) -> Figures:
    return {"explain": 1_000.0, "webhook": routes / 10}


async def _fails(_: Program, __: int, ___: Path) -> Figures:
    raise RuntimeError("no OPA")


def test_part_that_fails_leaves_the_others_their_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "PARTS", {"starts": _fails, "admission": _works})
    monkeypatch.setattr("sys.argv", ["bench", "--routes", "20"])
    assert bench.main() == 1
    said = capsys.readouterr()
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in said.out.splitlines())
    assert head == ["figure", "unit", "before", "now", "ratio", "aim", "met"]
    assert rows == [
        ["`explain` of one rule", "expressions", "-", "1,000", "-", "1,200", "yes"],
        ["webhook to OPA's own webhook, 16 clients, p50", "times", "-", "2", "-", "1.8", "no"],
    ]
    assert "RuntimeError: no OPA" in said.err


def test_aim_that_is_a_share_of_before_is_judged_by_the_ratio_of_the_means() -> None:
    row = printed([{"command": 2.0}, {"command": 4.0}], [{"command": 1.0}]).splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[3:-1]] == ["3", "1", "0.333", "0.5 of before", "yes"]
