"""Updates the picture with OPA while a page is open, at the cost of each change, and numbers the changes."""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import structlog

from bridge.model.changes import Notice, merge_notices
from bridge.model.types import DESCRIBING, POLICY_KIND
from bridge.opa.batches import batches, in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUnavailable, OpaUndefined
from bridge.queries.asking import with_suggestions
from bridge.queries.statuses import condition_groups, differences
from bridge.sidecar.run import Backing
from bridge.web.picture import PagePicture, sound
from bridge.work import FAILED, PAUSE, Backoff

log = structlog.get_logger(__name__)

BATCH = 250  # objects, or policies, of a query
AT_ONCE = 2  # queries for parts of the picture: OPA evaluates each on one processor
SHORTLY = 10.0  # longest delay of a notice about a write to OPA
UNUSED = 300.0  # seconds without requests after which the picture is dropped


class Drawing:
    """The picture, and the outcome of each policy. Nothing is queried before the first request.

    `journal` numbers changes. `whole` is set while the picture has all of OPA's objects, and `has_outcomes` while
    `policies` have all outcomes.
    """

    def __init__(self) -> None:
        self.picture = PagePicture()
        self.policies: dict[str, dict[str, Any]] = {}
        self.journal = Journal()
        self.whole = asyncio.Event()
        self.has_outcomes = False
        self._backing: Backing | None = None
        self._follows = False
        self._notices: list[tuple[float, Notice]] = []  # with the time of their arrival
        self._since: dict[str, float] = {}  # the time when an object was added to the picture
        self._differing: set[str] = set()  # policies
        self._uncounted: set[str] = set()  # policies whose outcomes are not computed yet
        self._reported: set[str] = set()  # names that are not keys
        self._all = True  # everything must be drawn again
        self._lookers = 0
        self._looked = 0.0  # the time of the last request
        self._wake = asyncio.Event()

    def open(self, backing: Backing) -> None:
        """Note that OPA is running."""
        self._backing = backing
        self._wake.set()

    def note(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        if notice.refilled or any(key.type_id in DESCRIBING for key in notice.keys):
            self._all = True
        elif not notice.refilling:
            self._notices.append((asyncio.get_running_loop().time(), notice))
        self._wake.set()

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Keep the picture while the block runs, and for a while after."""
        self._lookers += 1
        self._wake.set()
        try:
            yield
        finally:
            self._lookers -= 1
            self._looked = asyncio.get_running_loop().time()

    async def run(self) -> None:
        """Draw until cancelled."""
        backoff = Backoff(FAILED)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(UNUSED if self._follows else None):
                    await self._wake.wait()
            self._wake.clear()
            if self._backing is None:
                continue
            if not self._lookers and asyncio.get_running_loop().time() - self._looked > UNUSED:
                self._put_away(self._backing)
                continue
            try:
                await self._draw(self._backing)
                backoff.reset()
            except (OpaUnavailable, OpaUndefined) as error:
                log.info("picture waiting for OPA", why=str(error))
                await asyncio.sleep(PAUSE)
                self._wake.set()
            except Exception as error:  # noqa: BLE001 - it must not end the bridge: what can be isolated was
                wait = backoff.next()
                log.error("picture update failed", why=f"{type(error).__name__}: {error}", retry_seconds=wait)
                self._forget()
                await asyncio.sleep(wait)
                self._wake.set()

    async def _draw(self, backing: Backing) -> None:
        if not self._follows:
            self._follows = True
            backing.replicator.listen(self.note)
            backing.remediator.follow(self._note_policies)
        heard, revision = self._all or bool(self._notices), self.journal.revision
        while self._all:
            self._all = False
            self._notices.clear()
            try:
                await self._draw_all(backing.opa)
            except OpaError:
                self._all = True
                raise
        while self._notices and not self._all:
            notices, self._notices = self._notices, []
            try:
                await self._redraw(backing.opa, notices)
            except OpaError:
                self._notices = [*notices, *self._notices]
                raise
        await self._tell_policies(backing)
        if heard and self.journal.revision == revision:
            self.journal.add(())  # effective policies may differ where the picture does not
        self.whole.set()

    def _put_away(self, backing: Backing) -> None:
        if self._follows:
            self._follows = False
            backing.replicator.ignore(self.note)
            backing.remediator.unfollow(self._note_policies)
            self._forget()

    def _forget(self) -> None:
        self.picture, self.policies = PagePicture(), {}
        self._since.clear()
        self._notices.clear()
        self._differing.clear()
        self._uncounted.clear()
        self._reported.clear()
        self._all = True
        self.whole.clear()
        self.has_outcomes = False
        self.journal.forget()

    def _note_policies(self, keys: frozenset[str]) -> None:
        self._differing |= keys
        self._wake.set()

    async def _draw_all(self, opa: Opa) -> None:
        drawn: set[str] = set()
        for part in await opa.query("picture_roots", {}):
            upcoming = [key for key in part if key not in drawn]
            while upcoming:
                drawn |= await self._put(opa, upcoming)
                upcoming = sorted(self.picture.beside(upcoming) - drawn)
            if self._all:
                return  # the current drawing is outdated as a whole
        for key in [key for key in self.picture.objects if key not in drawn]:
            self._note_nodes(self._take(key, None))
        held = await opa.query("policies", {})
        self._differing |= {*held, *self.policies}

    async def _redraw(self, opa: Opa, notices: Sequence[tuple[float, Notice]]) -> None:
        was = {str(key): paths for key, paths in merge_notices([notice for _, notice in notices]).was.items()}
        came: dict[str, float] = {}
        for time, notice in notices:
            for key in notice.keys:
                came.setdefault(str(key), time)
        if came:
            # An object that was added shortly before its notice may have been created by this change; others that name
            # it may have been drawn before that.
            drawn = [key for key, time in came.items() if self._since.get(key, time) < time - SHORTLY]
            more = {"was": was, "drawn": drawn}
            parts = await in_parts(opa, "picture_changes", "keys", sorted(came), more)
            await self._put(opa, sorted({key for _, found in parts for key in found}))

    async def _put(self, opa: Opa, objects: Sequence[str]) -> set[str]:
        """Draw objects, and those that their edges end at; return the keys of all of them."""
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
            upcoming = sorted(self.picture.missing(changed) - drawn)
        return drawn

    def _take(self, key: str, entry: Mapping[str, Any] | None) -> set[str]:
        if entry is not None:
            entry, wrong = sound(entry)
            for name in sorted(wrong - self._reported):
                self._reported.add(name)
                log.error("object not drawn, invalid name", object=key, name=name)
        concerned = self.picture.put(key, entry)
        if key in self.picture:
            self._since.setdefault(key, asyncio.get_running_loop().time())
        else:
            self._since.pop(key, None)
        return concerned

    def _note_nodes(self, keys: Iterable[str]) -> None:
        changed: list[Changed] = [("node", key) for key in keys]
        if changed:
            self.journal.add(changed)

    async def _tell_policies(self, backing: Backing) -> None:
        is_complete = backing.remediator.is_complete  # reported as a change of no policy, at least
        if is_complete:
            self._differing |= self._uncounted
            self._uncounted.clear()
        keys = sorted(self._differing)
        for batch in batches(keys, BATCH):
            tallies = {key: backing.remediator.tallies(key) for key in batch}
            more = {"tallies": tallies, "problems": True}
            for names, entries in await in_parts(backing.opa, "status", "policies", batch, more):
                policies = {entry["policy"]: _policy(entry) for entry in entries if entry["policyKind"] != POLICY_KIND}
                await _suggest_names(backing.opa, policies.values())
                if not is_complete:
                    self._uncounted.update(policies)
                    policies = {key: _provisional(policy, self.policies.get(key)) for key, policy in policies.items()}
                changed: list[Changed] = [
                    ("policy", key) for key in names if self.policies.get(key) != policies.get(key)
                ]
                for _, key in changed:
                    if key in policies:
                        self.policies[key] = policies[key]
                    else:
                        del self.policies[key]
                if changed:
                    self.journal.add(changed)
            self._differing.difference_update(batch)
        self.has_outcomes = is_complete


def _policy(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy with its desired conditions, each once, and the contradictions of its controllers."""
    names = ("type", "status", "reason", "message")
    conditions = [{name: one.get(name, "") for name in names} for group in condition_groups(entry) for one in group]
    return {
        "policyKind": entry["policyKind"],
        "mode": entry["mode"],
        "outcome": entry.get("outcome", ""),
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


Changed = tuple[Literal["node", "policy"], str]
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
