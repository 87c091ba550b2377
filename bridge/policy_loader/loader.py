"""The loader: makes the set of modules in OPA from the authors' submissions.

If two submissions exclude each other, the active one stays, otherwise the older one. A submission that does not compile
with the others is rejected alone, and its last good version stays; it is checked again whenever the set changes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import structlog

from bridge.machine import Machine
from bridge.model.keys import Key
from bridge.opa.bundle import Bundle
from bridge.opa.client import STATES_OF_MODULES, Opa
from bridge.opa.errors import Failing, OpaError, OpaRejected
from bridge.opa.shipped import Shipped
from bridge.policy_loader.activation import Activation, BundleEndpoint, State
from bridge.policy_loader.assembly import Dependents, Generating, assemble, no_decision, no_view
from bridge.policy_loader.compile_check import Checker, CheckError
from bridge.policy_loader.judgement import Culprits, Judge, author_of, fails_on_examples, failures_by_author
from bridge.policy_loader.ownership import flaws
from bridge.policy_loader.probation import Probation
from bridge.policy_loader.reports import summary_of_failing
from bridge.policy_loader.selection import Entry, Listener, SelectedSet, Verdicts, choose
from bridge.policy_loader.states import LOADER, LoaderEvent, LoaderState
from bridge.policy_loader.submissions import DataPath, ModuleProblem, Places, Submission

log = structlog.get_logger(__name__)

COALESCE = 0.02  # seconds to wait for further changes
BUNDLES = ("taken", "refused")
PATIENCE = 5.0  # seconds of the initial list after which an OPA without any Rego gets the shipped one
_LOOK = 0.01  # seconds between two checks of an OPA that loads a bundle; they double
_LONGEST_LOOK = 0.5
_SLOW = 2.0  # seconds after which authors get the status that OPA has not loaded it yet
_RETRY_PERIOD = 30.0  # seconds between two checks of modules that were rejected for a reason outside of the set


class Loader:
    """Keeps the newest set of modules active in which every one compiles with all others.

    `put` and `remove` are for followers of the authors' objects, and return immediately; `run` does the work until it
    is cancelled. Listeners get each changed verdict. `kubernetes` returns the text of that view, which is omitted if
    OPA has other documents there; empty: it is disabled. `decision` returns the path of the placement decision that the
    webhook queries; call `reconsider` when it changes.
    """

    def __init__(
        self,
        opa: Opa,
        endpoint: BundleEndpoint,
        checker: Checker,
        shipped: Shipped,
        kubernetes: Callable[[], str] = no_view,
        decision: Callable[[], DataPath] = no_decision,
    ) -> None:
        self._opa = opa
        self._activation = Activation(opa, endpoint)
        self._shipped = shipped
        self._generating = Generating(kubernetes, self._in_the_way, decision)
        self._judge = Judge(checker, shipped, self._generating.modules, self._in_the_way)
        self._entries: dict[Key, Entry] = {}
        self._probation = Probation(self._judge.faults, lambda: self._served, self._note_change)
        self._culprits = Culprits(self._entries)
        self._verdicts = Verdicts()
        self._dependents = Dependents()
        self._machine = Machine(LOADER, LoaderState.LISTING)
        self._settled = self._machine.during(LoaderState.LOADED, LoaderState.RETRYING)
        self._wake = asyncio.Event()
        self.failing = Failing(self._wake.set)  # objects on which modules fail
        self._opa = opa
        self._published: dict[str, dict[str, str]] | None = (
            None  # the document STATES_OF_MODULES, None if it is unknown
        )
        self._number = 0  # of selected sets
        self._served: list[Submission] = []
        self._retried = self._served  # the set with which left-out submissions were checked again
        self._retry_at = 0.0  # the time of the next such check with the same set
        self._sound: set[Key] = set()  # authors whose modules in this set do not fail on examples
        self._former = Places(())  # of the previously served set
        self._next: Bundle | None = None  # the bundle to serve, in SELECTED and SELECTED_STALE
        self._query_errors: list[OpaError] = []  # why conflicts with OPA's documents are unknown
        self._confirmed = ""  # the revision in OPA
        self._serving_since = 0.0
        self._why = ""  # the last failure, "" after a success
        self.bundles: Counter[str] = Counter()  # bundles for OPA, by their result: BUNDLES

    @property
    def modules(self) -> int:
        """Return the number of authors' modules among the served ones."""
        return sum(len(submission.modules) for submission in self._served)

    @property
    def policies_exist(self) -> bool:
        """Return whether any module was submitted, valid or not. Until the initial list is complete: True."""
        return self.state is LoaderState.LISTING or any(entry.submitted.modules for entry in self._entries.values())

    @property
    def state(self) -> LoaderState:
        """Return how far the newest set of modules is."""
        return self._machine.state

    @property
    def revision(self) -> str:
        """Return the revision of the served bundle; "" before the first."""
        return self._activation.revision

    def was_served_recently(self, revision: str) -> bool:
        """Return whether a bundle was replaced so recently that OPA may not have its successor yet."""
        return self._activation.was_served_recently(revision)

    def links(self) -> str | None:
        """Return the digest of the modules that declare links; None while OPA has another set than the next one."""
        return self._dependents.links if self._confirmed and self._confirmed == self.revision else None

    def before_rules_change(self, call: Callable[[bool], None]) -> None:
        """Call this before serving a bundle that changes links (then with True), or the merge of policies."""
        self._dependents.listen(call)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict. A removed submission has none."""
        self._verdicts.listen(listener)

    def put(self, submission: Submission) -> None:
        """Accept a submission, which replaces its author's previous one."""
        entry = self._entries.get(submission.author)
        if entry is None:
            self._entries[submission.author] = Entry(submission)
        elif entry.submitted != submission:
            entry.submit(submission)
        else:
            return
        self._note_change()

    def remove(self, author: Key) -> None:
        """Remove an author's submission."""
        self._probation.release(author)
        if self._entries.pop(author, None):
            self._note_change()

    def reconsider(self) -> None:
        """Generate modules again: settings have changed."""
        self._note_change()

    def listed(self) -> None:
        """Note that all existing authors have submitted: from here on the set is served."""
        if self.state is LoaderState.LISTING:
            self._machine.on(LoaderEvent.LISTED)
            self._wake.set()

    async def wait_until_active(self) -> str:
        """Wait until OPA has the set that is being served; return its revision."""
        while True:
            await self._settled.wait()
            with contextlib.suppress(OpaError):
                if (await self._activation.look()).state is State.ACTIVE and self._settled.is_set():
                    return self._confirmed
            await asyncio.sleep(_LONGEST_LOOK)

    async def blame(self, error: OpaRejected) -> bool:
        """Return whether an evaluation failed because of an author's module, and not of an object.

        When this returns True, the module is removed or at its previous version, and the query can be repeated. A
        module stays if it fails only on objects: otherwise their authors could disable it.
        """
        for one in error.errors if error.in_evaluation else ():
            places = Places(self._served)
            author = author_of(one, places)
            if author is None and author_of(one, self._former) is None:
                continue
            if author is not None:
                if author in self._sound or not await fails_on_examples(self._opa, author, self._served):
                    if self._confirmed == self.revision:  # otherwise the examples were not evaluated by this set
                        self._sound.add(author)
                    return False
                self._culprits.of_evaluation(one, places)
                self._note_change()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.wait_until_active()
            return True
        return False

    async def run(self) -> None:
        """Check and serve until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._probation.run())
            await self._load()

    async def _load(self) -> None:
        await self._until_listed()
        look = _LOOK
        while True:
            await self._publish()
            try:
                look = await self._step(look)
                self._why = ""
            except (OpaError, CheckError) as error:
                self._machine.on(LoaderEvent.FAILED)
                if str(error) != self._why:
                    self._why = str(error)
                    log.warning("module activation delayed", why=self._why)
                look = _LONGEST_LOOK
            late = bool(self._why) or asyncio.get_running_loop().time() - self._serving_since > _SLOW
            moving = self.state in {LoaderState.STALE, LoaderState.SELECTED_STALE}
            self._verdicts.tell(self._entries.values(), self._failures(), moving=moving, late=late)
            await self._publish()
            await self._rest(look)

    async def _publish(self) -> None:
        """Write to OPA which submissions are being checked or fail on objects, for readers of OPA alone."""
        states: dict[str, dict[str, str]] = {
            str(author): {"failing": summary_of_failing(problems)} for author, problems in self._failures().items()
        }
        for author, entry in self._entries.items():
            if entry.being_checked and entry.submitted.modules:
                states.setdefault(str(author), {})["since"] = entry.submitted_at
        if states != self._published:
            self._published = None
            with contextlib.suppress(OpaError):
                await self._opa.put(STATES_OF_MODULES, states)
                self._published = states

    def _failures(self) -> Mapping[Key, tuple[ModuleProblem, ...]]:
        return failures_by_author(self.failing.errors, self._served)

    async def _step(self, look: float) -> float:
        """Do the next work of the state; return the seconds until the next check of OPA, after `look`."""
        match self.state:
            case LoaderState.SELECTED | LoaderState.SELECTED_STALE:
                await self._serve()
                return _LOOK
            case LoaderState.STALE:
                await asyncio.sleep(COALESCE)
                await self._select(LoaderEvent.SELECT)
            case LoaderState.LOADING:
                await self._look()
                return min(2 * look, _LONGEST_LOOK)
            case LoaderState.LOADED if self._retry_after() == 0:
                await self._select(LoaderEvent.RETRY)
        return look

    async def _until_listed(self) -> None:
        """Before the initial list is complete an OPA with modules keeps them; one without gets the shipped ones."""
        patience = PATIENCE
        while self.state is LoaderState.LISTING:
            self._wake.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._wake.wait()
            except TimeoutError:
                with contextlib.suppress(OpaError):
                    if not self.revision and await self._activation.has_nothing():
                        await self._activation.serve(assemble(self._shipped, (), self._generating.modules(())))
                patience = 1.0

    async def _rest(self, look: float) -> None:
        """Wait for a change, or for the next check of OPA or of left-out submissions."""
        if not self._why and self.state in {LoaderState.STALE, LoaderState.SELECTED, LoaderState.SELECTED_STALE}:
            return
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            resting = self.state is LoaderState.LOADED and self._published is not None
            async with asyncio.timeout(self._retry_after() if resting else look):
                await self._wake.wait()

    def _retry_after(self) -> float | None:
        """Return the seconds until left-out submissions are checked again; None if there are none."""
        if not any(entry.left_behind for entry in self._entries.values()):
            return None
        if self._served is not self._retried:
            return 0.0  # they may compile with a new set
        return max(0.0, self._retry_at - asyncio.get_running_loop().time())

    def _note_change(self) -> None:
        self._machine.on(LoaderEvent.CHANGE)
        self._wake.set()

    async def _in_the_way(self, claimed: Collection[DataPath]) -> Collection[DataPath]:
        try:
            return await self._activation.in_the_way(claimed)
        except OpaError as error:
            self._query_errors.append(error)
            return ()

    async def _select(self, event: LoaderEvent) -> None:
        again = self._machine.on(event) is LoaderState.RETRYING
        self._retry_at = asyncio.get_running_loop().time() + _RETRY_PERIOD
        self._query_errors.clear()
        submitted = {author: entry.submitted for author, entry in self._entries.items()}
        for entry in self._entries.values():
            entry.reconsider({id(submission) for submission in submitted.values()})
        if again:
            self._retried = self._served
        if await self._generating.look():
            self._judge.forget()
        self._adopt(await self._chosen(again=again), submitted)
        if again:
            self._retried = self._served
        if self._query_errors:
            # Nothing is served before OPA has reported the documents that it would erase.
            raise self._query_errors[0]
        bundle = assemble(self._shipped, self._served, self._generating.modules(self._served))
        if bundle.revision != self.revision:
            self._next = bundle
            self._machine.on(LoaderEvent.SELECTED)
            return
        self._dependents.take_back()  # another bundle may have been next
        if self._machine.on(LoaderEvent.UNCHANGED) is LoaderState.LOADING and self._confirmed == self.revision:
            self._note_loaded()

    async def _serve(self) -> None:
        assert self._next is not None  # noqa: S101 (in these states there is one)
        self._dependents.announce(self._served)
        await self._activation.serve(self._next)
        self._dependents.serve()
        self._machine.on(LoaderEvent.SERVED)
        self._serving_since = asyncio.get_running_loop().time()

    async def _chosen(self, *, again: bool) -> SelectedSet:
        """Return the newest set; if checking all together takes long, the newest of what is known to be quick."""
        entries = sorted(self._entries.values(), key=lambda one: (one.chosen is None, one.submitted.age))
        fresh = [one.submitted for one in entries if one.submitted is not one.chosen and not _excluded(one)]
        clock = asyncio.get_running_loop()
        started = clock.time()
        if not self._probation.is_needed():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._probation.quick if fresh else None):
                    outcome = await self._choose(entries, again=again)
                    self._probation.measure(clock.time() - started)
                    return outcome
        await self._probation.hold(fresh)
        return await self._choose(entries, again=again)

    async def _choose(self, entries: Sequence[Entry], *, again: bool) -> SelectedSet:
        good = []
        alone: dict[Key, tuple[ModuleProblem, ...]] = {}
        for entry in entries:
            found = _excluded(entry) or self._probation.problems(entry.submitted)
            if found:
                alone[entry.submitted.author] = found
            choice = entry.choice(again=again or self._probation.has_passed(entry.submitted))
            if found or self._probation.is_waiting(entry.submitted):
                choice.versions = tuple(version for version in choice.versions if version is not entry.submitted)
            good.append(choice)
        outcome = await choose(good, self._judge.faults)
        outcome.problems.update(alone)
        return outcome

    def _adopt(self, outcome: SelectedSet, submitted: Mapping[Key, Submission]) -> None:
        self._number += 1
        for author, entry in self._entries.items():
            chosen = outcome.chosen.get(author)
            entry.take(chosen, self._number)
            if entry.submitted is not submitted.get(author):
                continue  # it has arrived meanwhile
            if chosen is entry.submitted:
                entry.problems, entry.left_behind = (), None
                self._probation.release(author)
            elif author in outcome.problems:  # otherwise it was no candidate
                self._probation.fail(entry.submitted, outcome.problems[author])
                entry.problems = outcome.problems[author]
                entry.left_behind = entry.submitted
        served = list(outcome.chosen.values())
        if [*map(id, served)] != [*map(id, self._served)]:
            self._former, self._served = Places(self._served), served
            self._sound.clear()

    async def _look(self) -> None:
        looked = await self._activation.look()
        if looked.state is State.REFUSED:
            self.bundles["refused"] += 1
            if self._culprits.of_refusal(looked, Places(self._served)):
                self._machine.on(LoaderEvent.REJECTED)
            else:
                self._activation.give_up()
        elif looked.state is State.ACTIVE:
            self.bundles["taken"] += 1
            log.info("modules activated", revision=self.revision, submissions=len(self._served))
            self._note_loaded()

    def _note_loaded(self) -> None:
        self._confirmed = self.revision
        for entry in self._entries.values():
            entry.confirm(self.revision)
        self._machine.on(LoaderEvent.LOADED)


def _excluded(entry: Entry) -> tuple[ModuleProblem, ...]:
    """Return why a submission cannot be loaded, whatever the check finds; empty if it can."""
    return tuple(flaws(entry.submitted)) or entry.refused()
