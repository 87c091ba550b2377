"""Label selectors in kubectl's syntax: `app=web,tier!=db,env in (a,b)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.queries.asking import Selects

_KEY = r"[A-Za-z0-9][A-Za-z0-9_./-]*"
_VALUE = r"[A-Za-z0-9_.-]*"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_IN = re.compile(rf"({_KEY})\s+(in|notin)\s+\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_COMMA = re.compile(r",(?![^(]*\))")  # a comma outside parentheses


def parse_selector(text: str) -> Selects:
    """Return a predicate for labels, which requires all conditions. Raises CommandError for another form."""
    requirements = [_requirement(part.strip(), text) for part in _COMMA.split(text)] if text.strip() else []
    return lambda labels: all(holds(labels) for holds in requirements)


def _requirement(part: str, text: str) -> Selects:
    if found := _EQUALS.fullmatch(part):
        key, mark, value = found.groups()
        if mark == "!=":
            return lambda labels: labels.get(key) != value  # true also without the label, as in kubectl
        return lambda labels: labels.get(key) == value
    if found := _IN.fullmatch(part):
        key, mark, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        return lambda labels: (labels.get(key) in values) == (mark == "in")
    if found := _EXISTS.fullmatch(part):
        absent, key = found.groups()
        return lambda labels: (key in labels) != bool(absent)
    raise CommandError(
        f"-l {text}: {part!r} is not a valid requirement: write key=value, key!=value, key in (a,b), key or !key"
    )
