"""An analysis as JUnit XML: a test case for each problem that the change introduces, keeps or fixes.

The format is that of Jenkins, GitLab and others: https://github.com/testmoapp/junitxml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET  # only written, never parsed

from bridge.cli.plain import plain
from bridge.cli.printers.problems import Position
from bridge.model.keys import parse_key
from bridge.queries.analysis import is_error
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def junit(answer: Analysis, position: Position, summary: str) -> str:
    """Return the document.

    Introduced problems are failures, unchanged ones and mere warnings are skipped, fixed ones pass.
    """
    introduced = [
        _case(problem, position, "failure" if is_error(problem) else "skipped") for problem in answer.introduced
    ]
    remaining = [_case(problem, position, "skipped") for problem in answer.remaining]
    fixed = [_case(problem, position, "") for problem in answer.fixed]
    cases = [*introduced, *remaining, *fixed]
    if not cases:
        cases.append(ET.Element("testcase", {"name": "no problems", "classname": "policy-bridge"}))
    found = {outcome: sum(case.find(outcome) is not None for case in cases) for outcome in ("failure", "skipped")}
    counts = {"tests": len(cases), "failures": found["failure"], "skipped": found["skipped"], "errors": 0}
    suites = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    suite = ET.SubElement(suites, "testsuite", {"name": "Policy Bridge", **suites.attrib})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _text(summary)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def _case(problem: Mapping[str, Any], position: Position, outcome: str) -> ET.Element:
    key = parse_key(problem["subject"])
    place = position(key)
    where = {"file": _text(place[0]), "line": str(place[1])} if place else {}
    name = f"{problem['reason']} at {short_key(key)}"
    case = ET.Element("testcase", {"name": _text(name), "classname": _text(key.type_id), **where})
    if outcome:
        told = {"message": _text(problem["message"])} | ({"type": problem["reason"]} if outcome == "failure" else {})
        ET.SubElement(case, outcome, told)
    return case


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", plain(text))
