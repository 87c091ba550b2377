"""What applying manifests would change: a summary, the problems that come, go and stay, and effective policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.answers.targets import short_key
from bridge.cli.printers.differences import differences_table
from bridge.cli.printers.documents import print_document
from bridge.cli.printers.github import workflow_commands
from bridge.cli.printers.table import Column, Table, print_tables
from bridge.model.keys import Key, parse_key

if TYPE_CHECKING:
    from bridge.answers.analysis import Analysis

Position = Callable[[Key], tuple[str, int] | None]


def print_analysis(output: str, answer: Analysis, position: Position) -> None:
    """Print it on standard output; `position` tells where an object is written, for those who mend it."""
    if output in {"json", "yaml"}:
        print_document(output, answer.document())
    elif output == "github":
        print("\n".join(workflow_commands(answer, position, summary(answer))))
    else:
        tables = [
            _problems("INTRODUCED", answer.introduced, position),
            _problems("FIXED", answer.fixed, position),
            _problems("UNCHANGED", answer.remaining, position),
            differences_table(answer.effective, output == "wide"),
        ]
        print_tables([summary(answer), *(table for table in tables if table.rows)])


def summary(answer: Analysis) -> str:
    """One line that says how much changes."""
    objects = _counted(created=answer.created, changed=answer.changed, deleted=answer.deleted)
    problems = _counted(introduced=answer.introduced, fixed=answer.fixed, unchanged=answer.remaining)
    targets = len({(told["target"], told["policyKind"]) for told in answer.effective})
    places = f"{targets:,} target{'' if targets == 1 else 's'}" if targets else "no target"
    return f"Objects: {objects}. Problems: {problems}. Effective policies differ at {places}."


def _counted(**groups: Sequence[object]) -> str:
    return ", ".join(f"{len(members):,} {name}" for name, members in groups.items())


def _problems(title: str, problems: Sequence[Mapping[str, Any]], position: Position) -> Table:
    columns = [Column(title), Column("PROBLEM"), Column("MESSAGE", long=True), Column("WHERE")]
    rows: list[Sequence[str]] = [
        [short_key(key), problem["reason"], problem["message"], "{}:{}".format(*place) if place else ""]
        for problem in problems
        for key in [parse_key(problem["subject"])]
        for place in [position(key)]
    ]
    return Table(columns, rows).without_empty("WHERE")
