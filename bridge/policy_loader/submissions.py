"""What policy authors submit, where it is in the bundle, and what is reported to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from bridge.model.keys import Key

DataPath = tuple[str, ...]  # from the root of OPA's data


@dataclass(frozen=True, slots=True)
class Submission:
    """All that one object (a ConfigMap, a RegoPolicy) wants in OPA: all of it comes in force together, or none.

    `author` is that object's key, `version` names this content of it (such as its resourceVersion). `modules` and
    `tests` are Rego by name, which stands in for a file name in messages; tests are run before the modules come in
    force, and are not loaded. `data` are documents by their path. `created` is the object's creationTimestamp ("" where
    it has none): of two that claim the same, the older has it.
    """

    author: Key
    version: str
    modules: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[DataPath, Any] = field(default_factory=dict)
    created: str = ""

    @property
    def age(self) -> tuple[bool, str, Key]:
        """Sorts the oldest first; those of unknown age are younger."""
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
    """What became of a submission.

    `version` was handed in last, `in_force` is the one that OPA has ("" for none). `problems` say why `version` is not
    accepted; where there are none it is, and comes in force as soon as OPA takes it. `revision` is that of the bundle
    by which the version in force came to OPA.
    """

    author: Key
    version: str
    in_force: str
    problems: tuple[ModuleProblem, ...] = ()
    revision: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the last version was found good."""
        return not self.problems

    @property
    def programmed(self) -> bool:
        """Whether OPA answers from the last version."""
        return self.accepted and self.in_force == self.version


SUFFIX = ".rego"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a set of modules: whose module OPA names (None: nobody's), and what it says."""

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
        """What OPA says of a file, as something that its author understands."""
        author, name = self._whose.get(path, (None, path))
        told = " ".join(message.split())
        for known, (whose, module) in self._whose.items():
            if known in told:
                told = told.replace(known, module if whose == author else f"{whose} {module}")
                author = author or whose  # some messages name the file alone
        return Fault(author, ModuleProblem(name, line, column, code, told))
