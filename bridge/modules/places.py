"""Where a submission's modules stand in the bundle, and whose a file there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from bridge.model.keys import Key
from bridge.modules.submissions import Problem, Submission

SUFFIX = ".rego"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a set of modules: whose module OPA names (None: nobody's), and what it says."""

    author: Key | None
    problem: Problem


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
        return Fault(author, Problem(name, line, column, code, told))
