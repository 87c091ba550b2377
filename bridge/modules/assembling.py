"""One bundle of the shipped modules and a set of submissions; and what of that set shipped rules depend on."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bridge.modules.claims import package_of, packages, roots
from bridge.modules.places import Places
from bridge.modules.shipped import Shipped
from bridge.modules.submissions import DataPath, Submission
from bridge.opa.bundle import Bundle, build_bundle

HIERARCHY = ("bridge", "extensions", "hierarchy")  # links are made by what is below this
STRATEGIES = ("bridge", "strategies")  # effective policies by what is below this
_ELSEWHERE = re.compile(r"\bdata\b(?!\.bridge\.(?:lib|lookup|hierarchy|extensions\.hierarchy)\b)")


def assemble(shipped: Shipped, submissions: Sequence[Submission], generated: Mapping[str, str]) -> Bundle:
    """The bundle, whose roots are exactly the packages and documents in it. `generated` are further modules of ours."""
    modules = {**shipped.modules, **generated, **Places(submissions).modules}
    data = document(shipped, submissions)
    claimed = claimed_roots(submissions) | {package for text in generated.values() if (package := package_of(text))}
    owned = {tuple(root.split("/")) for root in shipped.roots} | claimed
    return build_bundle(modules, data, {"/".join(root) for root in roots(owned)})


def claimed_roots(submissions: Iterable[Submission]) -> set[DataPath]:
    """The parts of `data` that submissions own."""
    claimed: set[DataPath] = set()
    for submission in submissions:
        claimed.update(packages(submission).values(), submission.data)
    return roots(claimed)


def document(shipped: Shipped, submissions: Iterable[Submission]) -> dict[str, Any]:
    """The base documents of a bundle."""
    data: dict[str, Any] = copy.deepcopy(dict(shipped.data))
    for submission in submissions:
        for path, value in submission.data.items():
            node = data
            for name in path[:-1]:
                node = node.setdefault(name, {})
            node[path[-1]] = value
    return data


def digest(submissions: Sequence[Submission], point: DataPath) -> str:
    """Names all that modules below an extension point can see of other submissions; "" where there are none.

    One that reads `data` beyond the point and the bridge's own packages may see everything.
    """
    inside = [
        submission.modules[name]
        for submission in submissions
        for name, package in packages(submission).items()
        if package[: len(point)] == point
    ]
    if not inside:
        return ""
    seen: list[Any] = inside
    if any(_ELSEWHERE.search(text) for text in inside):
        seen = [[dict(one.modules), sorted(one.data.items())] for one in submissions]
    return hashlib.sha256(msgspec.json.encode(seen, order="deterministic")).hexdigest()[:16]
