"""A judge whose verdicts a test gives by hand."""

from collections.abc import Callable

from bridge.model.keys import Key
from bridge.policy_loader.submissions import ModuleProblem, Submission, Verdict


class HandJudge:
    """Takes submissions, and returns the verdicts that a test sets."""

    def __init__(self) -> None:
        self.handed: dict[Key, Submission] = {}
        self.puts = 0
        self.complete = 0
        self._listeners: list[Callable[[Verdict], None]] = []

    def listen(self, listener: Callable[[Verdict], None]) -> None:
        """Tell this listener."""
        self._listeners.append(listener)

    def submit(self, submission: Submission) -> None:
        """Take it."""
        self.puts += 1
        self.handed[submission.author] = submission

    def remove(self, author: Key) -> None:
        """Forget it."""
        self.handed.pop(author, None)

    def listed(self) -> None:
        """Count it."""
        self.complete += 1

    def accept(self, author: Key, revision: str = "r1") -> None:
        """OPA evaluates the last submission."""
        version = self.handed[author].version
        self._tell(Verdict(author, version, version, (), revision))

    def take(self, author: Key) -> None:
        """It is good, and OPA has not taken it."""
        self._tell(Verdict(author, self.handed[author].version, ""))

    def refuse(self, author: Key, *problems: ModuleProblem, active: str = "") -> None:
        """It is not good."""
        self._tell(Verdict(author, self.handed[author].version, active, problems, "r1" if active else ""))

    def _tell(self, verdict: Verdict) -> None:
        for listener in self._listeners:
            listener(verdict)
