"""Modules that the bridge makes for a set, because Rego cannot refer to a package by a name that it has as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import structlog

from bridge.modules import dispatch, view
from bridge.modules.claims import packages
from bridge.modules.submissions import DataPath, Submission

log = structlog.get_logger(__name__)

InTheWay = Callable[[Collection[DataPath]], Awaitable[Collection[DataPath]]]
Generate = Callable[[Sequence[Submission]], Mapping[str, str]]


def no_view() -> str:
    """There is to be no `kubernetes` view."""
    return ""


class Generating:
    """The modules for sets, with the view whose text `kubernetes` gives unless somebody else has documents there."""

    def __init__(self, kubernetes: Callable[[], str], in_the_way: InTheWay) -> None:
        self._kubernetes = kubernetes
        self._in_the_way = in_the_way
        self._view = ""

    async def look(self) -> bool:
        """Have the view as it is to be; whether that is another than before."""
        text = self._kubernetes()
        if text and await self._in_the_way([view.PACKAGE]):
            log.warning("OPA holds documents of somebody else at data.kubernetes: the view of that name stays away")
            self._kubernetes, text = no_view, ""
        before, self._view = self._view, text
        return text != before

    def modules(self, submissions: Sequence[Submission]) -> Mapping[str, str]:
        """The modules for a set, by their paths in the bundle."""
        return generated(submissions, self._view)


def generated(submissions: Sequence[Submission], kubernetes: str = "") -> dict[str, str]:
    """The modules for a set, by their paths in the bundle; the `kubernetes` view is one where its text is given."""
    found = (
        (package, submission.modules[name])
        for submission in submissions
        for name, package in packages(submission).items()
    )
    made = {dispatch.FILE: dispatch.dispatcher(found)}
    return {**made, view.FILE: kubernetes} if kubernetes else made
