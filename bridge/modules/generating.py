"""Modules that the bridge makes for a set, because Rego cannot refer to a package by a name that it has as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bridge.modules import dispatch, view
from bridge.modules.claims import packages
from bridge.modules.submissions import Submission

Generate = Callable[[Sequence[Submission]], Mapping[str, str]]


def generated(submissions: Sequence[Submission], kubernetes: str = "") -> dict[str, str]:
    """The modules for a set, by their paths in the bundle; the `kubernetes` view is one where its text is given."""
    found = (
        (package, submission.modules[name])
        for submission in submissions
        for name, package in packages(submission).items()
    )
    made = {dispatch.FILE: dispatch.dispatcher(found)}
    return {**made, view.FILE: kubernetes} if kubernetes else made
