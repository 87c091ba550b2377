"""The parts of `data` that a submission claims, and those that it may not have.

The rules (docs/reference/modules.md):
- `bridge.*` is the bridge's, except for `bridge.extensions.hierarchy.<name>` and `bridge.strategies.<name>`, each of
  which belongs to one author; `system.*` is OPA's;
- the documents that the bridge writes are its own;
- data is allowed where no other author has modules or data;
- ordinary packages may be shared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bridge.opa.client import STATES_OF_MODULES
from bridge.opa.shipped import SETTINGS
from bridge.policy_loader.submissions import DataPath, Fault, ModuleProblem, Submission

WRITTEN = (
    SETTINGS,
    STATES_OF_MODULES,
    "bridge_state",
    "facts",
    "index",
    "kind_sets",
    "kinds",
    "objects",
)  # documents of the bridge itself
HIERARCHY = ("bridge", "extensions", "hierarchy")  # modules below declare links
STRATEGIES = ("bridge", "strategies")  # modules below merge effective policies
VIEW = ("kubernetes",)  # the package of the view of replicated objects
_OWN = "claim_refused"  # the code of these problems

# The form that OPA's parser and this module certainly read alike; other forms of a package clause are rejected.
_CLAUSE = re.compile(
    r"\ufeff?(?:[ \t\r\n]|\#[^\n]*\n)*package[ \t\r\n]+([A-Za-z_][A-Za-z0-9_]*)"
    r"((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\"[^\"\\\n]*\"\])*)[ \t\r]*(?:\#[^\n]*)?(?:\n|\Z)"
)
_PART = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[\"([^\"]*)\"\]")


def package_of(text: str) -> DataPath | None:
    """Return the package of a module, None if it is not plain."""
    found = _CLAUSE.match(text)
    if not found:
        return None
    return (found[1], *(part[1] if part[1] is not None else part[2] for part in _PART.finditer(found[2])))


def packages(submission: Submission) -> dict[str, DataPath]:
    """Return the package of each module of a submission; modules without a plain one are omitted."""
    found = {name: package_of(text) for name, text in submission.modules.items()}
    return {name: package for name, package in found.items() if package is not None}


def flaws(submission: Submission) -> list[ModuleProblem]:
    """Return why no set can have a submission: it is invalid, or has claims that no author may have."""
    found = [*submission.problems]
    for name, text in submission.modules.items():
        package = package_of(text)
        if package is None:
            message = "its package cannot be read: begin with a line `package <name>.<name>`"
        else:
            message = _refused(package)
        if message:
            found.append(ModuleProblem(name, _line_of_package(text), 1, _OWN, message))
    for path in submission.data:
        message = _refused(path, data=True)
        if message:
            found.append(ModuleProblem("", 0, 0, _OWN, f"data at {_dotted(path)}: {message}"))
    return found


def disputes(submissions: Iterable[Submission]) -> Iterator[Fault]:
    """Return the claims of a submission that an earlier one has."""
    points: dict[DataPath, Submission] = {}
    data: dict[DataPath, Submission] = {}
    claimed: dict[DataPath, Submission] = {}  # packages
    for submission in submissions:
        for name, package in packages(submission).items():
            line = _line_of_package(submission.modules[name])
            point = _point(package)
            owner = points.setdefault(point, submission) if point else submission
            if owner is not submission:
                message = f"{_dotted(point)} belongs to {owner.author}: choose another name"
                yield Fault(submission.author, ModuleProblem(name, line, 1, _OWN, message), own=True)
            holder = _holder(data, package, submission)
            if holder:
                message = f"{holder.author} has data at, above or below {_dotted(package)}"
                yield Fault(submission.author, ModuleProblem(name, line, 1, _OWN, message), own=True)
        for path in submission.data:
            holder = _holder(data, path, submission) or _holder(claimed, path, submission)
            if holder:
                message = f"{holder.author} has data or modules at, above or below {_dotted(path)}"
                yield Fault(submission.author, ModuleProblem("", 0, 0, _OWN, message), own=True)
        for package in packages(submission).values():
            claimed.setdefault(package, submission)
        for path in submission.data:
            data.setdefault(path, submission)


def roots(paths: Iterable[DataPath]) -> set[DataPath]:
    """Return the same parts of `data`, without those that are within others."""
    chosen: set[DataPath] = set()
    for path in sorted(paths, key=len):
        if not any(path[:length] in chosen for length in range(len(path) + 1)):
            chosen.add(path)
    return chosen


def overlap(one: DataPath, other: DataPath) -> bool:
    """Return whether one of two parts of `data` is within the other, or both are the same."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _holder(held: dict[DataPath, Submission], path: DataPath, but: Submission) -> Submission | None:
    return next((who for taken, who in held.items() if who is not but and overlap(taken, path)), None)


def _refused(path: DataPath, *, data: bool = False) -> str:
    if not path or not all(path):
        return "a part of it is empty"
    if any("/" in part for part in path):
        return "a part of it contains a slash, which OPA's bundles do not support"
    if path[0] == "system":
        return "system is reserved for OPA: choose another package"
    if path[0] in WRITTEN:
        return f"{path[0]} is a document that the bridge writes: choose another package"
    if path == VIEW:
        return "kubernetes is the view of replicated objects: choose a package below it, such as kubernetes.admission"
    if path[0] == "bridge" and (data or not _point(path)):
        return (
            "bridge is reserved for the bridge, except bridge.extensions.hierarchy.<name> and bridge.strategies.<name>"
        )
    return ""


def _point(package: DataPath) -> DataPath:
    """Return the name below an extension point of a package; empty if it is below none."""
    for point in (HIERARCHY, STRATEGIES):
        if package[: len(point)] == point and len(package) > len(point):
            return package[: len(point) + 1]
    return ()


def _dotted(path: DataPath) -> str:
    return ".".join(path)


def _line_of_package(text: str) -> int:
    found = re.search(r"^[ \t]*package\b", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1
