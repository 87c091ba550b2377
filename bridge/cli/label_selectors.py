"""Label selectors as kubectl takes them: `app=web,tier!=db,env in (a,b),!legacy`."""

from __future__ import annotations

import re

from bridge.answers.asking import Selects
from bridge.answers.errors import CommandError

_KEY = r"[A-Za-z0-9][A-Za-z0-9_./-]*"
_VALUE = r"[A-Za-z0-9_.-]*"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_IN = re.compile(rf"({_KEY})\s+(in|notin)\s+\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_COMMA = re.compile(r",(?![^(]*\))")  # one that is in no parentheses


def parse_selector(text: str) -> Selects:
    """What tells whether labels are selected; all requirements must hold. Raises CommandError for another form."""
    requirements = [_requirement(part.strip(), text) for part in _COMMA.split(text)] if text.strip() else []
    return lambda labels: all(holds(labels) for holds in requirements)


def _requirement(part: str, text: str) -> Selects:
    if found := _EQUALS.fullmatch(part):
        key, mark, value = found.groups()
        if mark == "!=":
            return lambda labels: labels.get(key) != value  # also where there is no such label, as kubectl
        return lambda labels: labels.get(key) == value
    if found := _IN.fullmatch(part):
        key, mark, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        if mark == "notin":
            return lambda labels: labels.get(key) not in values
        return lambda labels: labels.get(key) in values
    if found := _EXISTS.fullmatch(part):
        absent, key = found.groups()
        return lambda labels: (key in labels) != bool(absent)
    raise CommandError(f"-l {text}: {part!r} is no requirement: write key=value, key!=value, key in (a,b), key or !key")
