"""What links, and effective policies, depend on in what is served; who makes them hears before that changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bridge.modules.assembling import HIERARCHY, STRATEGIES, digest
from bridge.modules.submissions import Submission

_Digests = tuple[str, str]  # of the modules that links are made by, and of those that policies are merged by


class Dependents:
    """Digests of the modules in question, as they were announced to listeners and as they are served."""

    def __init__(self) -> None:
        self._announced: _Digests = ("", "")
        self._served: _Digests = ("", "")
        self._listeners: list[Callable[[bool], None]] = []

    def listen(self, call: Callable[[bool], None]) -> None:
        """Call this before they change; with True where links are made otherwise."""
        self._listeners.append(call)

    def announce(self, submissions: Sequence[Submission]) -> None:
        """These are served next."""
        digests = (digest(submissions, HIERARCHY), digest(submissions, STRATEGIES))
        if digests != self._announced:
            links = digests[0] != self._announced[0]
            self._announced = digests
            for call in self._listeners:
                call(links)

    def serve(self) -> None:
        """What was announced is served."""
        self._served = self._announced

    def take_back(self) -> None:
        """What was announced is not served: what was before goes on."""
        self._announced = self._served

    @property
    def links(self) -> str | None:
        """Names the modules by which links are made; None while others are announced than are served."""
        return self._served[0] if self._announced == self._served else None
