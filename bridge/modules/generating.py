"""Modules that the bridge makes for a set, because Rego cannot refer to a package by a name that it has as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bridge.modules import dispatch
from bridge.modules.claims import packages
from bridge.modules.submissions import Submission

Generate = Callable[[Sequence[Submission]], Mapping[str, str]]


def generated(submissions: Sequence[Submission]) -> dict[str, str]:
    """The modules for a set, by their paths in the bundle."""
    found = (
        (package, submission.modules[name])
        for submission in submissions
        for name, package in packages(submission).items()
    )
    return {dispatch.FILE: dispatch.dispatcher(found)}
