"""Analyses in the formats of CI systems: Markdown comments, SARIF, JUnit, GitHub annotations.

Specifications: GitHub Flavored Markdown (https://github.github.com/gfm/), which GitLab supports, too; OASIS, Static
Analysis Results Interchange Format (SARIF) Version 2.1.0; JUnit's format of Jenkins, GitLab and others
(https://github.com/testmoapp/junitxml); docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET  # only written, never parsed

from bridge import __version__
from bridge.cli.annotations import annotate, causes_text, message_of, place_of, workflow_command
from bridge.cli.differences import differences_table
from bridge.cli.notation import Place, Position
from bridge.cli.output import to_json
from bridge.cli.problems import reason_text
from bridge.cli.table import Table
from bridge.model.keys import parse_key
from bridge.model.text import TIE, plain
from bridge.queries.analysis import is_error
from bridge.queries.explained_reasons import DOCS, Reason, explained_reasons
from bridge.queries.names import first_of, short_key

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis

UNNOTICED = "Some fields are no longer in effect. To prevent this, add a Constraint"
_GUARDRAILS = f"{DOCS}/tutorials/guard-public-routes.md"
MARKER = "<!-- policy-bridge -->"  # a bot finds its own comment by this line
_LARGEST = 14_000  # characters of a table; a comment on GitHub has at most 65,536, for four tables
_LONGEST = 400  # characters of a cell
_CONTEXT = 40  # characters before the first difference of two long values
_OPEN = 10  # rows of differences that a comment shows without a click
_NAMED = 20  # created, changed or deleted objects that a comment names
_NAMED_IN_TEXT = 5  # such objects that a line on a terminal names


def comment(answer: Analysis, position: Position, summary: str) -> str:
    """Return the comment, which begins with MARKER."""
    return "\n".join(_lines(answer, position, summary)) + "\n"


def _lines(answer: Analysis, position: Position, summary: str) -> Iterator[str]:
    yield from (MARKER, f"### Policy Bridge: {_verdict(answer)}", "", summary, "")
    if answer.errors:
        yield from _rows(["Where", "Error"], answer.errors)
    for title, keys in _named_objects(answer):
        names = [_cell(name) for name in keys[:_NAMED]]
        yield from (f"{title}: {first_of(names + keys[_NAMED:], _NAMED)}", "")
    if answer.introduced:
        yield from _problems(answer.introduced, position)
        urls = {reason.name: reason.url for reason in explained_reasons()}
        named = dict.fromkeys(problem["reason"] for problem in answer.introduced)
        if links := [f"[{name}]({urls[name]})" for name in named if name in urls]:
            yield from (f"What to do: {', '.join(links)}", "")
    for title, problems in (("Fixed problems", answer.fixed), ("Unchanged problems", answer.remaining)):
        if problems:
            yield from _section(f"{title} ({len(problems):,})", _problems(problems, position))
    table = _around_differences(differences_table(answer.effective))
    if len(table.rows) > _OPEN:
        yield from _section(f"Effective policies with differences ({len(answer.effective):,})", markdown_table(table))
    elif table.rows:
        yield from ("Effective policies with differences:", "")
        yield from _diff(table)
    if answer.loses_unnoticed:
        yield f"{UNNOTICED}: [how]({_GUARDRAILS})."


def _verdict(answer: Analysis) -> str:
    if answer.errors:
        return "❌ Not everything could be read"
    if answer.fails:
        return "❌ This change introduces problems"
    return "⚠️ This change introduces only warnings" if answer.introduced else "✅ This change introduces no problems"


def unnoticed(answer: Analysis) -> list[str]:
    """Return the hint for a terminal, if the change takes something away that no guardrail can demand."""
    return [f"{UNNOTICED}: {_GUARDRAILS}"] if answer.loses_unnoticed else []


def _named_objects(answer: Analysis) -> Iterator[tuple[str, list[str]]]:
    for title, keys in (("Created", answer.created), ("Changed", answer.changed), ("Deleted", answer.deleted)):
        if keys:
            yield title, [short_key(parse_key(key)) for key in keys]


def _around_differences(table: Table) -> Table:
    """Return the table of differences with its long values cut to what is around their first difference."""
    before, after = table.titles.index("BEFORE"), table.titles.index("AFTER")
    for index, row in enumerate(table.rows):
        cells = [*row]
        alike = takewhile(lambda signs: signs[0] == signs[1], zip(row[before], row[after], strict=False))
        begin = max(0, sum(1 for _ in alike) - _CONTEXT)
        for column in (before, after):
            cells[column] = _cut(row[column], begin if max(len(row[before]), len(row[after])) > _LONGEST else 0)
        table.rows[index] = cells
    return table


def _cut(text: str, begin: int) -> str:
    """Return the text from a position on, with a sign at each end where something is left out."""
    end = begin + _LONGEST - 2
    left, right = "…" if begin else "", "…" if len(text) > end + 1 else ""
    return f"{left}{text[begin:end] if right else text[begin:]}{right}"


def _diff(table: Table) -> Iterator[str]:
    """Yield the differences as a block of code that GitHub and GitLab color."""
    at = {title: index for index, title in enumerate(table.titles)}
    lines = []
    for row in table.rows:
        path = f" via {row[at['VIA']]}" if row[at["VIA"]] != "-" else ""
        source = (
            f" for requests from {row[at['REQUESTS FROM']]}"
            if row[at.get("REQUESTS FROM", 0)] and "REQUESTS FROM" in at
            else ""
        )
        lines += [
            _cut(f"@@ {row[at['TARGETS']]}: {row[at['POLICY KIND']]}{path}{source} @@", 0),
            f"- {row[at['BEFORE']]}",
            f"+ {row[at['AFTER']]}",
        ]
    shown = [plain(line).replace(TIE, " ").replace("\n", " ") for line in lines]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", "".join(shown))), default=0))
    yield from (f"{fence}diff", *shown, fence, "")


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield from ("<details>", f"<summary>{title}</summary>", "")
    yield from lines
    yield from ("</details>", "")


def _problems(problems: Sequence[Mapping[str, Any]], position: Position) -> Iterator[str]:
    rows = []
    for problem in problems:
        key = parse_key(problem["subject"])
        place = place_of(problem, position)
        where = "{}:{}".format(*place) if place else ""
        rows.append([short_key(key), reason_text(problem), problem["message"], where, causes_text(problem)])
    if any(row[-1] for row in rows):
        return _rows(["Object", "Problem", "Message", "Where", "Because of"], rows)
    return _rows(["Object", "Problem", "Message", "Where"], [row[:-1] for row in rows])


def markdown_table(table: Table) -> Iterator[str]:
    """Yield the lines of a table in Markdown; a long one is cut, and says so."""
    return _rows([title.capitalize() for title in table.titles], table.rows)


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
    """Return a cell with text as code: only there nothing becomes a link, a mention, a reference, HTML or an entity."""
    shown = plain(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…").replace(TIE, " ").strip()
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    # A bar ends the cell, also in code. Parsers disagree about a backslash before an escaped bar.
    escaped = shown.replace("\\|", "\\ |").replace("|", "\\|")
    return f"{fence}{pad}{escaped}{pad}{fence}" if shown else ""


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_log(answer: Analysis, position: Position) -> dict[str, Any]:
    """Return the log: introduced problems are new, other problems of changed objects are unchanged or absent."""
    states = (("new", answer.introduced), ("unchanged", answer.remaining), ("absent", answer.fixed))
    results = [_result(problem, state, position) for state, problems in states for problem in problems]
    rules = sorted({result["ruleId"] for result in results})
    known = {reason.name: reason for reason in explained_reasons()}
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    driver = {
        "name": "Policy Bridge",
        "semanticVersion": __version__,
        "rules": [_rule(rule, known.get(rule)) for rule in rules],
    }
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if answer.errors:
        notes = [{"level": "error", "message": {"text": plain(": ".join(filter(None, one)))}} for one in answer.errors]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str, reason: Reason | None) -> dict[str, Any]:
    """Return the rule of a reason; one of an admin's module is described by its name."""
    if reason is None:
        return {"id": name, "shortDescription": {"text": name}}
    return {
        "id": name,
        "shortDescription": {"text": reason.meaning},
        "help": {"text": reason.fix},
        "helpUri": reason.url,
    }


def _result(problem: Mapping[str, Any], state: str, position: Position) -> dict[str, Any]:
    key = parse_key(problem["subject"])
    found: dict[str, Any] = {
        "ruleId": problem["reason"],
        "level": "error" if is_error(problem) else "warning",
        "message": {"text": plain(f"{short_key(key)}: {message_of(problem)}")},
        "baselineState": state,
        "partialFingerprints": {"problem/v1": plain(f"{problem['subject']} {problem['reason']} {problem['about']}")},
        "locations": [_location(problem.get("causes", [problem["subject"]])[0], place_of(problem, position))],
    }
    if "causes" in problem:
        others = [*problem["causes"][1:], problem["subject"]]
        found["relatedLocations"] = [_location(other, position(parse_key(other))) for other in others]
    return found


def _location(key: str, place: Place) -> dict[str, Any]:
    logical: Sequence[Mapping[str, Any]] = [{"fullyQualifiedName": plain(key), "kind": "resource"}]
    if place is None:
        return {"logicalLocations": logical}
    file, line = place
    artifact = {"uri": "/".join(_quoted(file))}
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}},
        "logicalLocations": logical,
    }


def _quoted(file: str) -> Iterator[str]:
    """Quote a path for a URI reference; a colon in the first part would make it a scheme."""
    for part in PurePath(file).as_posix().split("/"):
        yield quote(part)


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def junit(answer: Analysis, position: Position, summary: str) -> str:
    """Return the document.

    Introduced problems are failures, unchanged ones and warnings that fail nothing are skipped, fixed ones pass. What
    could not be read is an error.
    """
    introduced = [
        _case(problem, position, "failure" if answer.is_failure(problem) else "skipped")
        for problem in answer.introduced
    ]
    remaining = [_case(problem, position, "skipped") for problem in answer.remaining]
    fixed = [_case(problem, position, "") for problem in answer.fixed]
    cases = [*map(_unread_case, answer.errors), *introduced, *remaining, *fixed]
    if not cases:
        cases.append(ET.Element("testcase", {"name": "no problems", "classname": "policy-bridge"}))
    found = {outcome: sum(case.find(outcome) is not None for case in cases) for outcome in ("failure", "skipped")}
    counts = {"tests": len(cases), "failures": found["failure"], "skipped": found["skipped"]}
    counts["errors"] = len(answer.errors)
    suites = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    suite = ET.SubElement(suites, "testsuite", {"name": "Policy Bridge", **suites.attrib})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _text(summary)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def _unread_case(error: tuple[str, str]) -> ET.Element:
    where, message = error
    case = ET.Element("testcase", {"name": _text(f"read {where}".strip()), "classname": "policy-bridge"})
    ET.SubElement(case, "error", {"message": _text(message)})
    return case


def _case(problem: Mapping[str, Any], position: Position, outcome: str) -> ET.Element:
    key = parse_key(problem["subject"])
    place = place_of(problem, position)
    where = {"file": _text(place[0]), "line": str(place[1])} if place else {}
    name = f"{problem['reason']} at {short_key(key)}"
    case = ET.Element("testcase", {"name": _text(name), "classname": _text(key.type_id), **where})
    if outcome:
        attributes = {"message": _text(message_of(problem))} | (
            {"type": problem["reason"]} if outcome == "failure" else {}
        )
        ET.SubElement(case, outcome, attributes)
    return case


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", plain(text))


def workflow_commands(answer: Analysis, position: Position, summary: str) -> Iterator[str]:
    """Return an error or warning for each introduced problem, at the position of the changed object.

    What could not be read is an error, too.
    """
    for read, message in answer.errors:
        file, _, line = read.rpartition(":")
        place = {"file": file, "line": line} if file and line.isdecimal() else {}
        text = message if place else ": ".join(filter(None, (read, message)))
        yield workflow_command("error", text, **place, title="Policy Bridge")
    yield from annotate(answer.introduced, position)
    yield workflow_command("notice", summary, title="Policy Bridge")


_REPORTS: dict[str, Callable[[Analysis, Position, str], str]] = {
    "github": lambda answer, position, summary: "\n".join(workflow_commands(answer, position, summary)) + "\n",
    "markdown": comment,
    "sarif": lambda answer, position, _: to_json(sarif_log(answer, position)),
    "junit": junit,
}
FORMATS = tuple(_REPORTS)


def print_report(output: str, answer: Analysis, position: Position) -> None:
    """Print an analysis in one of FORMATS. `position` returns the file and line of an object."""
    sys.stdout.write(_REPORTS[output](answer, position, summary(answer)))


def summary_with_names(answer: Analysis) -> str:
    """Return the summary, with the names of some created, changed and deleted objects."""
    named = [f"{title}: {first_of(names, _NAMED_IN_TEXT)}." for title, names in _named_objects(answer)]
    return " ".join((summary(answer), *named))


def summary(answer: Analysis) -> str:
    """Return one line with the number of changes."""
    objects = _counted(created=answer.created, changed=answer.changed, deleted=answer.deleted)
    problems = _counted(introduced=answer.introduced, fixed=answer.fixed, unchanged=answer.remaining)
    targets = len({(entry["target"], entry["policyKind"]) for entry in answer.effective})
    places = f"{targets:,} target{'' if targets == 1 else 's'}" if targets else "no target"
    return f"Objects: {objects}. Problems: {problems}. Effective policies differ at {places}."


def _counted(**groups: Sequence[object]) -> str:
    return ", ".join(f"{len(members):,} {name}" for name, members in groups.items())
