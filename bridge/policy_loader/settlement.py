"""A set of modules for an OPA that is started for one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bridge.model.changes import Change, Trouble
from bridge.model.keys import Key
from bridge.opa.bundle import Bundle
from bridge.policy_loader.assembly import assemble, generated
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.judgement import Judge
from bridge.policy_loader.ownership import flaws
from bridge.policy_loader.selection import Choice, Listener, choose
from bridge.policy_loader.shipped import Shipped
from bridge.policy_loader.submissions import DataPath, ModuleProblem, Submission


@dataclass(frozen=True, slots=True)
class SettledModules:
    """The bundle with everything that compiles together, and the problems of omitted objects.

    `submissions` are all read ones, accepted or not. `unread` has, by type, why its objects could not be read.
    """

    bundle: Bundle
    problems: Mapping[Key, tuple[ModuleProblem, ...]]
    unread: Mapping[str, str]
    submissions: Mapping[Key, Submission]


class Gathering:
    """Collects authors' objects until they are complete. `authors` has the wanted types."""

    def __init__(self, namespaces: Collection[str]) -> None:
        self.submissions: dict[Key, Submission] = {}
        self._complete = False
        self._unread: dict[str, str] = {}
        self.authors = Authors(self, namespaces)

    def listen(self, listener: Listener) -> None:
        """Ignore the listener: there are no verdicts before the end."""

    def put(self, submission: Submission) -> None:
        """Add a submission."""
        self.submissions[submission.author] = submission

    def remove(self, author: Key) -> None:
        """Remove an author's submission."""
        self.submissions.pop(author, None)

    def listed(self) -> None:
        """Note that all authors have submitted."""
        self._complete = True

    @property
    def settled(self) -> bool:
        """Return whether everything readable was read."""
        return self._complete or self._unread.keys() >= self.authors.unlisted.keys()

    def note(self, change: Change) -> None:
        """Process one change of a source."""
        if isinstance(change, Trouble) and change.subject in self.authors.types and not change.absent:
            self._unread[change.subject] = change.message
        else:
            self.authors.note(change)

    def give_up(self) -> None:
        """Stop waiting for missing objects."""
        self._unread = {**self.authors.unlisted, **self._unread}

    async def settle(self, checker: Checker, shipped: Shipped, kubernetes: str) -> SettledModules:
        """Return the newest set that compiles together, with the `kubernetes` view.

        Raises CheckError if `opa` is broken.
        """

        def generate(submissions: Sequence[Submission]) -> Mapping[str, str]:
            return generated(submissions, kubernetes)

        problems = {key: author.flaws for key, author in self.authors.known.items() if author.flaws}
        claims = {key: tuple(flaws(one)) for key, one in self.submissions.items()}
        problems |= {key: found for key, found in claims.items() if found}
        sound = sorted((one for key, one in self.submissions.items() if key not in problems), key=lambda one: one.age)
        choices = [Choice(one.author, (one,)) for one in sound]
        outcome = await choose(choices, Judge(checker, shipped, generate, _nothing_in_the_way).faults)
        problems |= outcome.problems
        chosen = list(outcome.chosen.values())
        return SettledModules(assemble(shipped, chosen, generate(chosen)), problems, self._unread, self.submissions)


async def _nothing_in_the_way(_: Collection[DataPath]) -> Collection[DataPath]:
    return ()
