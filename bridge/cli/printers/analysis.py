"""The effects of applying manifests: a summary, introduced, fixed and unchanged problems, and effective policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.cli.printers.differences import differences_table
from bridge.cli.printers.documents import print_document
from bridge.cli.printers.problems import Position, problems_table
from bridge.cli.printers.table import print_tables
from bridge.cli.reports import FORMATS as REPORTS
from bridge.cli.reports import print_report

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis


def print_analysis(output: str, answer: Analysis, position: Position) -> None:
    """Print the analysis on standard output; `position` returns the file and line of an object."""
    if output in {"json", "yaml"}:
        print_document(output, answer.document())
    elif output in REPORTS:
        print_report(output, answer, position, summary(answer))
    else:
        tables = [
            problems_table(answer.introduced, position, "INTRODUCED"),
            problems_table(answer.fixed, position, "FIXED"),
            problems_table(answer.remaining, position, "UNCHANGED"),
            differences_table(answer.effective, output == "wide"),
        ]
        print_tables([summary(answer), *(table for table in tables if table.rows)])


def summary(answer: Analysis) -> str:
    """Return one line with the number of changes."""
    objects = _counted(created=answer.created, changed=answer.changed, deleted=answer.deleted)
    problems = _counted(introduced=answer.introduced, fixed=answer.fixed, unchanged=answer.remaining)
    targets = len({(told["target"], told["policyKind"]) for told in answer.effective})
    places = f"{targets:,} target{'' if targets == 1 else 's'}" if targets else "no target"
    return f"Objects: {objects}. Problems: {problems}. Effective policies differ at {places}."


def _counted(**groups: Sequence[object]) -> str:
    return ", ".join(f"{len(members):,} {name}" for name, members in groups.items())
