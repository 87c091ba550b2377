"""The loader: makes the set of modules in OPA from the authors' submissions.

If two submissions exclude each other, the active one stays, otherwise the older one. A submission that does not compile
beside the active ones is rejected alone, and its last good version stays; it is checked again whenever the set changes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import structlog

from bridge.machine import Machine
from bridge.model.keys import Key
from bridge.opa.client import STATES_OF_MODULES, Opa
from bridge.opa.errors import Failing, OpaError, OpaRejected
from bridge.opa.shipped import Shipped
from bridge.policy_loader.activation import Activation, BundleEndpoint, Looked, State
from bridge.policy_loader.assembly import digest
from bridge.policy_loader.compile_check import Checker, CheckError
from bridge.policy_loader.entries import Entry, Failure, Probation, sharing, youth
from bridge.policy_loader.judgement import (
    Chosen,
    Judge,
    Problems,
    fails_on_examples,
    failures_by_author,
    fault_of,
    select,
)
from bridge.policy_loader.ownership import HIERARCHY, STRATEGIES, VIEW
from bridge.policy_loader.reports import summary, summary_of_failing
from bridge.policy_loader.states import LOADER, LoaderEvent, LoaderState
from bridge.policy_loader.submissions import DataPath, Fault, ModuleProblem, Places, Submission, Verdict

log = structlog.get_logger(__name__)

COALESCE = 0.02  # seconds to wait for further changes
BUNDLES = ("taken", "refused")
PATIENCE = 5.0  # seconds of the initial list after which an OPA without any Rego gets the shipped one
_LOOK = 0.01  # seconds between two checks of an OPA that loads a bundle; they double
_LONGEST_LOOK = 0.5
_SLOW = 2.0  # seconds after which authors get the status that OPA has not loaded it yet
_CONFLICT = "eval_conflict_error"
_REFUSED = "bundle_error"

Listener = Callable[[Verdict], None]


class Loader:
    """Keeps a set of modules active in which every one compiles with all others.

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
        kubernetes: Callable[[], str] = str,
        decision: Callable[[], DataPath] = tuple,
    ) -> None:
        self._opa = opa
        self._activation = Activation(opa, endpoint)
        self._kubernetes = kubernetes
        self._decision = decision
        self._judge = Judge(checker, shipped, self._in_the_way)
        self._entries: dict[Key, Entry] = {}
        self._machine = Machine(LOADER, LoaderState.LISTING)
        self._settled = self._machine.during(LoaderState.LOADED)
        self._wake = asyncio.Event()
        self._probation = Probation(
            self._entries, self._judge.faults, lambda: self._served, self.reconsider, self._wake.set
        )
        self._listeners: list[Listener] = []
        self.failing = Failing(self._wake.set)  # objects on which modules fail
        self._published: dict[str, dict[str, str]] | None = None  # STATES_OF_MODULES, None if it is unknown
        self._number = 0  # of selected sets
        self._served: list[Submission] = []
        self._former: list[Submission] = []  # the previously served set
        self._failures: list[Failure] = []  # versions that the next selection withdraws
        self._sound: set[Key] = set()  # authors whose modules in this set do not fail on examples
        self._digests = ("", "")  # of the modules that declare links, and of those that merge policies
        self._links: str | None = ""  # the first of them; None before the bundle with these modules is served
        self._rules_listeners: list[Callable[[bool], None]] = []
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
        return self._links if self._confirmed and self._confirmed == self.revision else None

    def before_rules_change(self, call: Callable[[bool], None]) -> None:
        """Call this before serving a bundle that changes links (then with True), or the merge of policies."""
        self._rules_listeners.append(call)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict. A removed submission has none."""
        self._listeners.append(listener)

    def put(self, submission: Submission) -> None:
        """Accept a submission, which replaces its author's previous one."""
        entry = self._entries.get(submission.author)
        if entry is None:
            self._entries[submission.author] = Entry(submission)
        elif entry.submitted != submission:
            entry.submit(submission)
        else:
            return
        self.reconsider()

    def remove(self, author: Key) -> None:
        """Remove an author's submission."""
        if self._entries.pop(author, None):
            self.reconsider()

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
            fault = fault_of(one, Places(self._served))
            if fault.author is None and fault_of(one, Places(self._former)).author is None:
                continue
            if fault.author is not None:
                if fault.author in self._sound or not await fails_on_examples(self._opa, fault.author, self._served):
                    if self._confirmed == self.revision:  # otherwise the examples were not evaluated by this set
                        self._sound.add(fault.author)
                    return False
                self._withdraw_culprit(fault)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.wait_until_active()
            return True
        return False

    def _withdraw_culprit(self, fault: Fault) -> None:
        """Withdraw the version in which an evaluation failed, or the latest that adds rules to its package."""
        entry = self._entries.get(fault.author) if fault.author else None
        if entry is None or entry.chosen is None:
            return
        conflict = fault.problem.code == _CONFLICT
        culprit = max(sharing(self._entries, entry, fault.problem.file), key=youth) if conflict else entry
        log.warning("module failed", submission=str(culprit.submitted.author), why=fault.problem.message)
        self._withdraw(culprit, [fault])
        self.reconsider()

    def _withdraw(self, entry: Entry, faults: Sequence[Fault]) -> None:
        if entry.chosen:
            author, others = entry.submitted.author, [one for one in sharing(self._entries, entry) if one is not entry]
            problems = [
                fault.problem if fault.author == author else replace(fault.problem, file="", line=0, column=0)
                for fault in faults
            ]
            self._failures.append(Failure(entry.chosen, tuple(problems), tuple(one.submitted for one in others)))

    async def run(self) -> None:
        """Check and serve until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._probation.run())
            await self._load()

    async def _load(self) -> None:
        await self._until_listed()
        look = _LOOK
        while True:
            self._wake.clear()
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
            self._report(late=late)
            await self._publish()
            await self._rest(look)

    def _report(self, *, late: bool) -> None:
        """Report changed verdicts; while the set changes, or OPA has not loaded it, only if that is late."""
        moving = self.state is LoaderState.STALE
        failing = self._failing()
        for entry in list(self._entries.values()):
            verdict = entry.verdict(failing.get(entry.submitted.author, ()))
            waiting = moving or entry.chosen is not entry.confirmed
            if verdict and verdict != entry.reported and (late or not waiting):
                entry.reported = verdict
                if verdict.problems:
                    log.warning("submission rejected", submission=str(verdict.author), why=summary(verdict))
                for listener in self._listeners:
                    listener(verdict)

    async def _publish(self) -> None:
        """Write to OPA which submissions are being checked, rejected, or fail on objects, for readers of OPA alone."""
        states: dict[str, dict[str, str]] = {
            str(author): {"failing": summary_of_failing(problems)} for author, problems in self._failing().items()
        }
        for author, entry in self._entries.items():
            if entry.submitted is not entry.confirmed and not entry.problems and entry.submitted.modules:
                states.setdefault(str(author), {})["since"] = entry.submitted_at
            elif (verdict := entry.verdict(())) and verdict.problems:
                states.setdefault(str(author), {})["rejected"] = summary(verdict)
        if states != self._published:
            self._published = None
            with contextlib.suppress(OpaError):
                await self._opa.put(STATES_OF_MODULES, states)
                self._published = states

    def _failing(self) -> Mapping[Key, tuple[ModuleProblem, ...]]:
        return failures_by_author(self.failing.errors, self._served)

    async def _step(self, look: float) -> float:
        """Do the next work of the state; return the seconds until the next check of OPA, after `look`."""
        match self.state:
            case LoaderState.STALE:
                await asyncio.sleep(COALESCE)
                await self._select()
                await self._serve()
                return _LOOK
            case LoaderState.LOADING:
                await self._look()
                return min(2 * look, _LONGEST_LOOK)
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
                    if not self.revision and await self._opa.bundle_revision() is None:
                        await self._activation.serve(self._judge.bundle(()))
                patience = 1.0

    async def _rest(self, look: float) -> None:
        """Wait for a change, or for the next check of OPA."""
        if not self._why and self.state is LoaderState.STALE:
            return
        with contextlib.suppress(TimeoutError):
            resting = self.state is LoaderState.LOADED and self._published is not None
            async with asyncio.timeout(None if resting else look):
                await self._wake.wait()

    def reconsider(self) -> None:
        """Select a set again: submissions, their checks, or settings have changed."""
        self._machine.on(LoaderEvent.CHANGE)
        self._wake.set()

    async def _in_the_way(self, claimed: Collection[DataPath]) -> Collection[DataPath]:
        try:
            return await self._activation.in_the_way(claimed)
        except OpaError as error:
            self._query_errors.append(error)
            return ()

    async def _select(self) -> None:
        self._machine.on(LoaderEvent.SELECT)
        self._query_errors.clear()
        view = self._kubernetes()
        if view and await self._in_the_way([VIEW]):
            log.warning("data.kubernetes is in use, view disabled")
            self._kubernetes, view = str, ""
        self._judge.generate(view, self._decision())
        for failure in self._failures:
            if entry := self._entries.get(failure.version.author):
                entry.withdraw(failure)
        self._failures.clear()
        present = {id(entry.submitted) for entry in self._entries.values()}
        for entry in self._entries.values():
            entry.reconsider(present)
        entries = sorted(self._entries.values(), key=lambda one: (one.chosen is None, one.submitted.age))
        active = [entry.chosen for entry in entries if entry.chosen]
        joining = [entry for entry in entries if entry.submitted is not entry.chosen and not entry.alone]
        self._adopt(*await self._selected(active, joining))
        if self._query_errors:
            # Nothing is served before OPA has reported the documents that it would erase.
            raise self._query_errors[0]

    async def _serve(self) -> None:
        bundle = self._judge.bundle(self._served)
        digests = (digest(self._served, HIERARCHY), digest(self._served, STRATEGIES))
        before, self._digests = self._digests, digests
        if bundle.revision != self.revision:
            if digests != before:
                self._links = None
                for call in self._rules_listeners:
                    call(digests[0] != before[0])
            await self._activation.serve(bundle)
            self._serving_since = asyncio.get_running_loop().time()
        self._links = digests[0]
        if self._machine.on(LoaderEvent.SERVED) is LoaderState.LOADING and self._confirmed == self.revision:
            self._note_loaded()

    async def _selected(self, active: Sequence[Submission], joining: Sequence[Entry]) -> tuple[Chosen, Problems]:
        """Return the newest set, without those of `joining` whose check together takes long: they are checked alone."""
        clock = asyncio.get_running_loop()
        started = clock.time()
        submitted = [entry.submitted for entry in joining]
        if submitted:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._probation.quick):
                    found = await select(active, submitted, self._judge.faults)
                    self._probation.measure(clock.time() - started)
                    return found
        for entry, submission in zip(joining, submitted, strict=True):
            if entry.submitted is submission:
                entry.alone = True
        self._probation.wake()
        return await select(active, (), self._judge.faults)

    def _adopt(self, chosen: Chosen, problems: Problems) -> None:
        self._number += 1
        now = asyncio.get_running_loop().time()
        served = list(chosen.values())
        changed = [*map(id, served)] != [*map(id, self._served)]
        if changed:
            self._former, self._served = self._served, served
            self._sound.clear()
        for author, entry in self._entries.items():
            entry.adopt(chosen.get(author), self._number)
            if entry.submitted is entry.chosen:
                continue
            if rejected := problems.get(id(entry.submitted)):
                entry.reject(rejected, now)
            elif changed:
                entry.retry(now)
        self._probation.wake()

    async def _look(self) -> None:
        looked = await self._activation.look()
        if looked.state is State.REFUSED:
            self.bundles["refused"] += 1
            if self._withdraw_refused(looked):
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

    def _withdraw_refused(self, looked: Looked) -> bool:
        """Withdraw the versions that OPA names, otherwise the latest; return False if all were active before."""
        errors = looked.errors or ({"message": looked.message, "code": _REFUSED},)
        faults = [fault_of(error, Places(self._served)) for error in errors]
        fresh = [entry for entry in self._entries.values() if entry.chosen and entry.chosen is not entry.confirmed]
        named = [entry for entry in fresh if any(fault.author == entry.submitted.author for fault in faults)]
        culprits = named or sorted(fresh, key=youth)[-1:]
        for entry in culprits:
            self._withdraw(entry, faults)
        if not culprits:
            log.error("modules rejected by OPA", why=looked.message, errors=looked.errors)
        return bool(culprits)
