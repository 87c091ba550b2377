"""Modules that the bridge makes for a set, because Rego cannot refer to a package by a name that it has as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import structlog

from bridge.modules import dispatch, joint_decision, view
from bridge.modules.claims import packages
from bridge.modules.submissions import DataPath, Submission

log = structlog.get_logger(__name__)

InTheWay = Callable[[Collection[DataPath]], Awaitable[Collection[DataPath]]]
Generate = Callable[[Sequence[Submission]], Mapping[str, str]]


def no_view() -> str:
    """There is to be no `kubernetes` view."""
    return ""


class Generating:
    """The modules for sets, with the view whose text `kubernetes` gives unless somebody else has documents there.

    `decision` gives the path of the placement decision that the webhook queries, empty where it queries none here.
    """

    def __init__(self, kubernetes: Callable[[], str], in_the_way: InTheWay, decision: Callable[[], DataPath]) -> None:
        self._kubernetes = kubernetes
        self._in_the_way = in_the_way
        self._decision = decision
        self._view = ""
        self._path: DataPath = ()

    async def look(self) -> bool:
        """Have the view and the decision as they are to be; whether either is another than before."""
        text = self._kubernetes()
        if text and await self._in_the_way([view.PACKAGE]):
            log.warning("OPA holds documents of somebody else at data.kubernetes: the view of that name stays away")
            self._kubernetes, text = no_view, ""
        before = self._view, self._path
        self._view, self._path = text, self._decision()
        return (self._view, self._path) != before

    def modules(self, submissions: Sequence[Submission]) -> Mapping[str, str]:
        """The modules for a set, by their paths in the bundle."""
        return generated(submissions, self._view, self._path)


def no_decision() -> DataPath:
    """The webhook queries no placement decision of this OPA."""
    return ()


def generated(submissions: Sequence[Submission], kubernetes: str = "", decision: DataPath = ()) -> dict[str, str]:
    """The modules for a set, by their paths in the bundle.

    The `kubernetes` view is one where its text is given; the joint decision is one where a module of the set has the
    placement decision at the path `decision`.
    """
    found = [
        (package, submission.modules[name])
        for submission in submissions
        for name, package in packages(submission).items()
    ]
    made = {dispatch.FILE: dispatch.dispatcher(found)}
    if kubernetes:
        made[view.FILE] = kubernetes
    if any(package == decision[: len(package)] for package, _ in found):
        made[joint_decision.FILE] = joint_decision.joint_decision(decision)
    return made
