"""Updates the picture with OPA while a page is open, at the cost of each change, and numbers the changes."""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import structlog

from bridge.derived.loop import Derived, Outdated
from bridge.model.changes import Notice
from bridge.model.types import POLICY_KIND
from bridge.opa.batches import SKIP_MISSING, batches, in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaIncomplete
from bridge.queries.asking import with_suggestions
from bridge.queries.statuses import condition_groups, differences
from bridge.sidecar.program import Backing
from bridge.web.picture import PagePicture, sound
from bridge.work import Turns

log = structlog.get_logger(__name__)

BATCH = 250  # objects, or policies, of a query
AT_ONCE = 2  # queries for parts of the picture: OPA evaluates each on one processor
SHORTLY = 10.0  # longest delay of a notice about a write to OPA
UNUSED = 300.0  # seconds without requests after which the picture is dropped
Changed = tuple[Literal["node", "policy"], str]  # an object of the picture or one of its nodes, or a policy


class Drawing(Derived[Changed]):
    """The picture, and the outcome of each policy. Nothing is queried before the first request.

    `journal` numbers changes. `whole` is set while the picture has all of OPA's objects, and `has_outcomes` while
    `policies` have all outcomes.
    """

    name = "picture"
    before_sync = True

    def __init__(self) -> None:
        self.picture = PagePicture()
        self.policies: dict[str, dict[str, Any]] = {}
        self.journal = Journal()
        self.whole = asyncio.Event()
        self.has_outcomes = False
        self._backing: Backing | None = None
        self._follows = False
        self._since: dict[str, float] = {}  # the time when an object was added to the picture
        self._drawn: set[str] | None = None  # objects that were drawn, while all of them are
        self._led_to: set[str] = set()  # nodes whose edges may end at objects that are not drawn, meanwhile
        self._uncounted: set[str] = set()  # policies whose outcomes are not computed yet
        self._reported: set[str] = set()  # names that are not keys
        self._settled = (-1, -1)  # the last revision without stale keys, of OPA's data and of the journal
        self._lookers = 0
        self._closing: asyncio.TimerHandle | None = None

    def open(self, backing: Backing) -> None:
        """Note that OPA is running."""
        self._backing = backing
        if self._lookers:
            self._begin(backing)

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Keep the picture while the block runs, and for a while after."""
        self._lookers += 1
        if self._closing:
            self._closing.cancel()
            self._closing = None
        if self._backing and not self._follows:
            self._begin(self._backing)
        try:
            yield
        finally:
            self._lookers -= 1
            if not self._lookers:
                self._closing = asyncio.get_running_loop().call_later(UNUSED, self._put_away)

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:
        """Return the part with the objects to draw again."""
        if change.kinds:
            return {}
        # An object that was added shortly before its notice may have been created by this change; others that name it
        # may have been drawn before that.
        keys = map(str, change.keys)
        return {"picture": {"drawn": [key for key in keys if self._since.get(key, since) < since - SHORTLY]}}

    async def keys_of(self, outdated: Outdated) -> Iterable[Changed] | None:
        """Return the objects to draw again."""
        return None if outdated.change.kinds else _nodes(outdated.parts.get("picture", ()))

    async def every(self) -> AsyncIterator[Iterable[Changed]]:
        """Yield all objects from the top down, then all policies. What was not reached is not in the picture."""
        opa = self._opened.opa
        drawn = self._drawn = set()
        self._led_to.clear()
        for part in await opa.query("picture_roots", {}):
            upcoming = [key for key in part if key not in drawn]
            while upcoming:
                yield _nodes(upcoming)
                upcoming = sorted((self.picture.beside(upcoming) | self.picture.missing(self._led_to)) - drawn)
                self._led_to.clear()
        self._drawn = None
        for key in [key for key in self.picture.objects if key not in drawn]:
            self._note_nodes(self._take(key, None))
        yield _policies({*await opa.query("policies", {}), *self.policies})

    def take(self, stale: Turns[Changed]) -> Iterable[Sequence[Changed]]:
        """Return as many as OPA answers about at once."""
        return [stale.take(AT_ONCE * BATCH)]

    async def compute(self, keys: Sequence[Changed]) -> None:
        """Draw objects, and those that their edges end at; then policies."""
        backing = self._opened
        await self._draw(backing.opa, [key for what, key in keys if what == "node"])
        for batch in batches([key for what, key in keys if what == "policy"], BATCH):
            await self._compute_policies(backing, batch)

    def settle(self, revision: int) -> None:
        """Note that the picture has all of a revision."""
        if revision > self._settled[0] and self.journal.revision == self._settled[1]:
            self.journal.add(())  # effective policies may differ where the picture does not
        self._settled = revision, self.journal.revision
        self.has_outcomes = self._opened.remediator.is_complete
        self.whole.set()

    def forget(self) -> None:
        """Drop the picture."""
        self.picture, self.policies = PagePicture(), {}
        self._since.clear()
        self._uncounted.clear()
        self._reported.clear()
        self._drawn = None
        self.whole.clear()
        self.has_outcomes = False
        self.journal.forget()

    @property
    def _opened(self) -> Backing:
        assert self._backing is not None  # noqa: S101 - nothing is drawn before
        return self._backing

    def _begin(self, backing: Backing) -> None:
        self._follows = True
        backing.loop.follow(self)
        backing.remediator.follow(self._note_policies)

    def _put_away(self) -> None:
        if self._follows and self._backing:
            self._follows = False
            self._backing.loop.leave(self)
            self._backing.remediator.unfollow(self._note_policies)
            self.forget()

    def _note_policies(self, keys: frozenset[str]) -> None:
        backing = self._opened
        differing = {*keys}
        if backing.remediator.is_complete:  # reported as a change of no policy, at least
            differing |= self._uncounted
            self._uncounted.clear()
        backing.loop.add(self, _policies(differing))

    async def _draw(self, opa: Opa, objects: Sequence[str]) -> None:
        drawn: set[str] = set()
        upcoming = list(objects)
        while upcoming:
            changed: set[str] = set()
            for some in batches(list(batches(upcoming, BATCH)), AT_ONCE):
                asked = [in_parts(opa, "picture", "objects", batch, {}) for batch in some]
                for names, entries in chain.from_iterable(await asyncio.gather(*asked)):
                    await _suggest_names(opa, entries.values())
                    concerned: set[str] = set()
                    for key in names:
                        concerned |= self._take(key, entries.get(key))
                    self._note_nodes(concerned)
                    changed |= concerned
            drawn.update(upcoming)
            if self._drawn is not None:
                self._drawn |= drawn
                self._led_to |= changed
                return
            upcoming = sorted(self.picture.missing(changed) - drawn)

    def _take(self, key: str, entry: Mapping[str, Any] | None) -> set[str]:
        if entry is not None:
            entry, wrong = sound(entry)
            for name in sorted(wrong - self._reported):
                self._reported.add(name)
                log.error("object not drawn, invalid name", object=key, name=name)
        concerned = self.picture.set_entry(key, entry)
        if key in self.picture:
            self._since.setdefault(key, asyncio.get_running_loop().time())
        else:
            self._since.pop(key, None)
        return concerned

    def _note_nodes(self, keys: Iterable[str]) -> None:
        if changed := _nodes(keys):
            self.journal.add(changed)

    async def _compute_policies(self, backing: Backing, keys: Sequence[str]) -> None:
        is_complete = backing.remediator.is_complete
        tallies = {key: backing.remediator.tallies(key) for key in keys}
        more = {"tallies": tallies, "problems": True, **SKIP_MISSING}
        try:
            answers = await in_parts(backing.opa, "status", "policies", keys, more)
        except OpaIncomplete:
            return  # once OPA has every object, all policies are computed
        for names, entries in answers:
            policies = {entry["policy"]: _policy(entry) for entry in entries if entry["policyKind"] != POLICY_KIND}
            await _suggest_names(backing.opa, policies.values())
            if not is_complete:
                self._uncounted.update(policies)
                policies = {key: _provisional(policy, self.policies.get(key)) for key, policy in policies.items()}
            changed = [key for key in names if self.policies.get(key) != policies.get(key)]
            for key in changed:
                if key in policies:
                    self.policies[key] = policies[key]
                else:
                    del self.policies[key]
            if changed:
                self.journal.add(_policies(changed))
        if not is_complete and backing.remediator.is_complete:
            self._note_policies(frozenset())  # it was completed meanwhile


def _nodes(keys: Iterable[str]) -> list[Changed]:
    return [("node", key) for key in keys]


def _policies(keys: Iterable[str]) -> list[Changed]:
    return [("policy", key) for key in sorted(keys)]


def _policy(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy with its desired conditions, each once, and the contradictions of its controllers."""
    names = ("type", "status", "reason", "message")
    conditions = [{name: one.get(name, "") for name in names} for group in condition_groups(entry) for one in group]
    return {
        "policyKind": entry["policyKind"],
        "mode": entry["mode"],
        "outcome": entry.get("outcome", ""),
        "created": entry["created"],
        "problems": entry["problems"],
        "conditions": [one for at, one in enumerate(conditions) if one not in conditions[:at]],
        "differences": differences(entry),
    }


def _provisional(policy: dict[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a policy with the outcome that it had, because that of now is only computed in part.

    Of its problems those about other objects are known already.
    """
    return {
        **policy,
        "outcome": before["outcome"] if before else "",
        "problems": [problem for problem in policy["problems"] if problem["about"] != problem["subject"]],
        "conditions": [condition for condition in policy["conditions"] if condition["type"] == "Accepted"],
    }


async def _suggest_names(opa: Opa, subjects: Iterable[dict[str, Any]]) -> None:
    """Add similar names to the `problems` of subjects, where objects do not exist."""
    subjects = list(subjects)
    found = iter(await with_suggestions(opa, [problem for one in subjects for problem in one["problems"]], {}))
    for one in subjects:
        one["problems"] = [next(found) for _ in one["problems"]]


REMEMBERED = 5_000  # revisions and keys; a client that has missed more starts again


class Journal:
    """Numbers changes, and remembers the keys of the last of them.

    A revision's name has an epoch, which changes with a restart.
    """

    def __init__(self) -> None:
        self.revision = 0
        self._epoch = secrets.token_hex(4)
        self._oldest = 0  # changes since then are remembered
        self._entries: deque[tuple[int, frozenset[Changed]]] = deque()
        self._size = 0
        self._changed = asyncio.Event()

    def name(self, revision: int | None = None) -> str:
        """Return a revision (default: the current one) in the form for clients."""
        return f"{self._epoch}-{self.revision if revision is None else revision}"

    def number(self, name: str) -> int | None:
        """Return the revision of a name, None for one of another epoch."""
        epoch, _, number = name.partition("-")
        return int(number) if epoch == self._epoch and number.isdecimal() and int(number) <= self.revision else None

    def add(self, keys: Iterable[Changed]) -> None:
        """Note that these have changed, in one revision; none of them if only results of queries may differ."""
        found = frozenset(keys)
        self.revision += 1
        self._entries.append((self.revision, found))
        self._size += 1 + len(found)
        while self._size > REMEMBERED:
            self._oldest, gone = self._entries.popleft()
            self._size -= 1 + len(gone)
        self._tell()

    def forget(self) -> None:
        """Note that everything may have changed."""
        self.revision += 1
        self._entries.clear()
        self._size = 0
        self._oldest = self.revision
        self._tell()

    def since(self, revision: int) -> set[Changed] | None:
        """Return the changes after a revision; None if they are not remembered."""
        if revision < self._oldest:
            return None
        found: set[Changed] = set()
        return found.union(*(keys for number, keys in self._entries if number > revision))

    async def after(self, revision: int) -> None:
        """Wait until there is a later one."""
        while self.revision <= revision:
            await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
