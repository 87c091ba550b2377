"""Who is behind an error that only OPA could find: in a bundle that it refuses, or in an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from bridge.model.keys import Key
from bridge.modules.activation import Looked
from bridge.modules.claims import packages
from bridge.modules.entries import Entry
from bridge.modules.places import Fault, Places
from bridge.modules.submissions import Problem

log = structlog.get_logger(__name__)

_CONFLICT = "eval_conflict_error"
_REFUSED = "bundle_error"


class Culprits:
    """Refuses the versions behind OPA's errors; `entries` are all authors."""

    def __init__(self, entries: Mapping[Key, Entry]) -> None:
        self._entries = entries

    def of_evaluation(self, told: Mapping[str, Any], places: Places) -> bool:
        """Refuse the version in which an evaluation failed; False where it failed elsewhere."""
        fault = _fault(told, places)
        entry = self._entries.get(fault.author) if fault.author else None
        if entry is None or entry.chosen is None:
            return False
        culprit = self._youngest(entry, fault.problem) if told.get("code") == _CONFLICT else entry
        log.warning("a module fails", author=str(culprit.submitted.author), why=fault.problem.message)
        self._refuse(culprit, (_of(fault, culprit),))
        return True

    def of_refusal(self, looked: Looked, places: Places) -> bool:
        """Refuse the versions that OPA names, else who came last; False where all were in force already."""
        faults = [_fault(error, places) for error in looked.errors or ({"message": looked.message, "code": _REFUSED},)]
        fresh = [entry for entry in self._entries.values() if entry.chosen and entry.chosen is not entry.confirmed]
        named = [entry for entry in fresh if any(fault.author == entry.submitted.author for fault in faults)]
        culprits = named or sorted(fresh, key=_youth)[-1:]
        for entry in culprits:
            self._refuse(entry, tuple(_of(fault, entry) for fault in faults))
        if not culprits:
            log.error("OPA refuses the modules", why=looked.message, errors=looked.errors)
        return bool(culprits)

    def _refuse(self, entry: Entry, problems: tuple[Problem, ...]) -> None:
        others = tuple(other.submitted for other in self._sharing(entry) if other is not entry)
        entry.refuse(problems, others)

    def _youngest(self, entry: Entry, problem: Problem) -> Entry:
        """Of those that define rules in one package, who came last: it makes the others' rules conflict."""
        return max(self._sharing(entry, problem.file), key=_youth)

    def _sharing(self, entry: Entry, module: str = "") -> list[Entry]:
        """Entries in the set with a package of this one's (of this module's), itself among them."""
        own = packages(entry.chosen) if entry.chosen else {}
        wanted = {own[module]} if module in own else set(own.values())
        return [
            other
            for other in self._entries.values()
            if other.chosen and (other is entry or wanted & set(packages(other.chosen).values()))
        ]


def names_somebody(told: Mapping[str, Any], places: Places) -> bool:
    """Whether an error stands in a module of an author."""
    return _fault(told, places).author is not None


def _youth(entry: Entry) -> tuple[int, tuple[bool, str, Key]]:
    return entry.since, entry.submitted.age


def _fault(told: Mapping[str, Any], places: Places) -> Fault:
    location = told.get("location") or {}
    file, line, column = (location.get(name, 0) for name in ("file", "row", "col"))
    return places.fault(
        str(file or ""), int(line), int(column), str(told.get("code", "")), str(told.get("message", ""))
    )


def _of(fault: Fault, entry: Entry) -> Problem:
    """A fault as its culprit is told, in whose modules it need not be."""
    if fault.author == entry.submitted.author:
        return fault.problem
    return replace(fault.problem, file="", line=0, column=0)
