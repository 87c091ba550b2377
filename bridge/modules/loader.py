"""The loader: from what authors hand in to the set of modules that OPA has."""

from __future__ import annotations

from collections.abc import Callable

from bridge.model.keys import Key
from bridge.modules.submissions import Submission, Verdict

Listener = Callable[[Verdict], None]


class Loader:
    """Keeps the newest set of modules in force in which every one compiles with all others.

    `put` and `remove` are for who follows the authors' objects, and return at once; `run` does the work until it is
    cancelled. Listeners are told of a submission whenever its verdict is another than before.
    """

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._submitted: dict[Key, Submission] = {}
        self._listed = False

    @property
    def policies_exist(self) -> bool:
        """Whether anybody has handed in a module, good or not. Until the first list is over: True."""
        return not self._listed or any(submission.modules for submission in self._submitted.values())

    @property
    def revision(self) -> str:
        """The revision of the bundle that is served; "" before the first."""
        return ""

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict. Where a submission is removed there is none."""
        self._listeners.append(listener)

    def put(self, submission: Submission) -> None:
        """Take a submission, in place of what its author has handed in before."""
        self._submitted[submission.author] = submission

    def remove(self, author: Key) -> None:
        """Take back all that an author has handed in."""
        self._submitted.pop(author, None)

    def listed(self) -> None:
        """All authors that there are have handed in: from here on the set is served."""
        self._listed = True

    async def run(self) -> None:
        """Check and serve until cancelled."""
