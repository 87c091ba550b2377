"""An analysis as a comment on a pull request: a summary, problems as a table, differences in collapsible sections.

The format is GitHub Flavored Markdown (https://github.github.com/gfm/), which GitLab supports too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.plain import TIE, plain
from bridge.cli.printers.differences import differences_table
from bridge.cli.printers.problems import Position
from bridge.cli.printers.table import Table
from bridge.model.keys import parse_key
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis

MARKER = "<!-- policy-bridge -->"  # a bot finds its own comment by this line
_LARGEST = 14_000  # characters of a table; a comment on GitHub has at most 65,536, for four tables
_LONGEST = 400  # characters of a cell
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def comment(answer: Analysis, position: Position, summary: str) -> str:
    """Return the comment, which begins with MARKER."""
    return "\n".join(_lines(answer, position, summary)) + "\n"


def _lines(answer: Analysis, position: Position, summary: str) -> Iterator[str]:
    verdict = "❌ This change introduces problems" if answer.fails else "✅ This change introduces no problems"
    yield from (MARKER, f"### Policy Bridge: {verdict}", "", escape(summary), "")
    if answer.introduced:
        yield from _problems(answer.introduced, position)
    for title, problems in (("Fixed problems", answer.fixed), ("Unchanged problems", answer.remaining)):
        if problems:
            yield from _section(f"{title} ({len(problems):,})", _problems(problems, position))
    table = differences_table(answer.effective)
    if table.rows:
        yield from _section(f"Effective policies with differences ({len(answer.effective):,})", _table(table))


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield from ("<details>", f"<summary>{escape(title)}</summary>", "")
    yield from lines
    yield from ("</details>", "")


def _problems(problems: Sequence[Mapping[str, Any]], position: Position) -> Iterator[str]:
    rows = []
    for problem in problems:
        key = parse_key(problem["subject"])
        place = position(key)
        where = "{}:{}".format(*place) if place else ""
        rows.append([short_key(key), problem["reason"], problem["message"], where])
    return _rows(["Object", "Problem", "Message", "Where"], rows)


def _table(table: Table) -> Iterator[str]:
    titles = [column.title.capitalize() for column in table.columns]
    return _rows(titles, table.rows)


def _rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    left = _LARGEST
    for index, row in enumerate(rows):
        line = f"| {' | '.join(map(_cell, row))} |"
        left -= len(line)
        if left < 0:
            yield from ("", f"… and {len(rows) - index:,} more")
            break
        yield line
    yield ""


def _cell(text: str) -> str:
    return escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def escape(text: str) -> str:
    """Return text that Markdown prints unchanged: an object's name must not become a link, a mention or HTML."""
    escaped = _SPECIAL.sub(r"\\\1", plain(text).replace(TIE, " "))
    # Markdown finds mentions and links in plain text; an empty comment inside prevents that.
    return escaped.replace("@", "@<!-- -->").replace("://", ":<!-- -->//")
