"""Submissions of policy authors, their paths in the bundle, and reports to authors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from bridge.model.keys import Key

DataPath = tuple[str, ...]  # from the root of OPA's data


@dataclass(frozen=True, slots=True)
class Submission:
    """The content of one object (a ConfigMap, a RegoPolicy) for OPA: all of it becomes active together, or none.

    `author` is that object's key, `version` identifies this content (such as its resourceVersion). `modules` and
    `tests` are Rego by name, which replaces a file name in messages; tests run before the modules become active, and
    are not loaded. `data` are documents by their path. `created` is the object's creationTimestamp ("" if it has none):
    of two with the same claim, the older has it.
    """

    author: Key
    version: str
    modules: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[DataPath, Any] = field(default_factory=dict)
    created: str = ""

    @property
    def age(self) -> tuple[bool, str, Key]:
        """Return a sort key for the oldest first; those of unknown age are younger."""
        return (not self.created, self.created, self.author)


@dataclass(frozen=True, slots=True)
class ModuleProblem:
    """Why a submission is not active.

    `file` is the name of one of its modules or tests (empty where it is about the whole), `line` and `column` count
    from 1 (0: not known), `code` is OPA's (`rego_parse_error`, …) or our own, `message` one line.
    """

    file: str
    line: int
    column: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a submission.

    `version` was submitted last, `in_force` is OPA's version ("" for none). `problems` are the reasons why `version` is
    not accepted; without them it is, and becomes active when OPA loads it. `revision` is that of the bundle that
    activated OPA's version.
    """

    author: Key
    version: str
    in_force: str
    problems: tuple[ModuleProblem, ...] = ()
    revision: str = ""

    @property
    def accepted(self) -> bool:
        """Return whether the last version is valid."""
        return not self.problems

    @property
    def programmed(self) -> bool:
        """Return whether OPA has the last version."""
        return self.accepted and self.in_force == self.version


SUFFIX = ".rego"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a set of modules: the author of the module that OPA names (None: none), and the message."""

    author: Key | None
    problem: ModuleProblem


class Places:
    """The modules of a set by their paths in the bundle, `<key of the author>/<name>` below `folder`."""

    def __init__(self, submissions: Iterable[Submission], folder: str = "") -> None:
        self._folder = folder
        self.modules: dict[str, str] = {}
        self._whose: dict[str, tuple[Key, str]] = {}
        for submission in submissions:
            self._add(submission.author, submission.modules)

    def _add(self, author: Key, modules: Mapping[str, str]) -> None:
        for name, text in modules.items():
            path = f"{self._folder}{author}/{quote(name, safe='')}"
            path += "" if path.endswith(SUFFIX) else SUFFIX
            while path in self.modules:
                path = f"{path.removesuffix(SUFFIX)}_{SUFFIX}"
            self.modules[path] = text
            self._whose[path] = (author, name)

    def fault(self, path: str, line: int, column: int, code: str, message: str) -> Fault:
        """Return OPA's message about a file in a form for its author."""
        author, name = self._whose.get(path, (None, path))
        told = " ".join(message.split())
        for known, (whose, module) in self._whose.items():
            if known in told:
                told = told.replace(known, module if whose == author else f"{whose} {module}")
                author = author or whose  # some messages name only the file
        return Fault(author, ModuleProblem(name, line, column, code, told))
