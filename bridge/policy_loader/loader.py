"""The loader: makes the set of modules in OPA from the authors' submissions.

If two submissions exclude each other, the active one stays, otherwise the older one. A submission that does not compile
with the others is rejected alone, and its last good version stays; it is checked again whenever the set changes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping

import structlog

from bridge.model.keys import Key
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected
from bridge.policy_loader.activation import Activation, State
from bridge.policy_loader.assembly import Dependents, Generating, assemble, no_decision, no_view
from bridge.policy_loader.compile_check import Checker, CheckError
from bridge.policy_loader.endpoint import BundleEndpoint
from bridge.policy_loader.judgement import Culprits, Judge, names_somebody
from bridge.policy_loader.ownership import flaws
from bridge.policy_loader.selection import Entry, Listener, SelectedSet, Verdicts, choose
from bridge.policy_loader.shipped import Shipped
from bridge.policy_loader.submissions import DataPath, ModuleProblem, Places, Submission

log = structlog.get_logger(__name__)

COALESCE = 0.02  # seconds to wait for further changes
BUNDLES = ("taken", "refused")
PATIENCE = 5.0  # seconds of the initial list after which an OPA without any Rego gets the shipped one
_LOOK = 0.01  # seconds between two checks of an OPA that loads a bundle; they double
_LONGEST_LOOK = 0.5
_SLOW = 2.0  # seconds after which authors get the status that OPA has not loaded it yet
_MENDED = 30.0  # seconds between two checks of modules that were rejected for a reason outside of the set


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
        self._activation = Activation(opa, endpoint)
        self._shipped = shipped
        self._generating = Generating(kubernetes, self._in_the_way, decision)
        self._judge = Judge(checker, shipped, self._generating.modules, self._in_the_way)
        self._entries: dict[Key, Entry] = {}
        self._culprits = Culprits(self._entries)
        self._verdicts = Verdicts()
        self._dependents = Dependents()
        self._listed = False
        self._changed = False  # since a set was selected
        self._again = False  # rejected modules must be checked again
        self._wake = asyncio.Event()
        self._number = 0  # of selected sets
        self._served: list[Submission] = []
        self._former = Places(())  # of the previously served set
        self._next: Bundle | None = None  # selected, and not served yet
        self._unasked: list[OpaError] = []  # why conflicts with OPA's documents are unknown
        self._confirmed = ""  # the revision in OPA
        self._serving_since = 0.0
        self._settled = asyncio.Condition()
        self._why = ""
        self.bundles: Counter[str] = Counter()  # bundles for OPA, by their result: BUNDLES

    @property
    def modules(self) -> int:
        """Return the number of authors' modules among the served ones."""
        return sum(len(submission.modules) for submission in self._served)

    @property
    def policies_exist(self) -> bool:
        """Return whether any module was submitted, valid or not. Until the initial list is complete: True."""
        return not self._listed or any(entry.submitted.modules for entry in self._entries.values())

    @property
    def revision(self) -> str:
        """Return the revision of the served bundle; "" before the first."""
        return self._activation.revision

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
        if self._entries.pop(author, None):
            self._note_change()

    def reconsider(self) -> None:
        """Generate modules again: settings have changed."""
        self._note_change()

    def listed(self) -> None:
        """Note that all existing authors have submitted: from here on the set is served."""
        if not self._listed:
            self._listed = True
            self._note_change()

    async def in_force(self) -> str:
        """Wait until OPA has the set that is being served; return its revision."""
        while True:
            async with self._settled:
                await self._settled.wait_for(self._is_settled)
            with contextlib.suppress(OpaError):
                if (await self._activation.look()).state is State.ACTIVE and self._is_settled():
                    return self._confirmed
            await asyncio.sleep(_LONGEST_LOOK)

    async def blame(self, error: OpaRejected) -> bool:
        """Return whether an evaluation failed in an author's module.

        When this returns True, the module is removed or at its previous version, and the query can be repeated.
        """
        for told in error.errors if error.in_evaluation else ():
            if self._culprits.of_evaluation(told, Places(self._served)):
                self._note_change()
            elif not names_somebody(told, self._former):
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.in_force()
            return True
        return False

    async def run(self) -> None:
        """Check and serve until cancelled."""
        await self._until_listed()
        look = _LOOK
        while True:
            try:
                # The selected set is served first, unless that has failed: an author with constant changes must not
                # delay others.
                if self._next and not (self._changed and self._why):
                    await self._serve(self._next)
                    look = _LOOK
                elif self._changed:
                    await asyncio.sleep(COALESCE)
                    await self._choose(again=False)
                elif self._confirmed != self.revision:
                    await self._look()
                    look = min(2 * look, _LONGEST_LOOK)
                elif self._again:
                    await self._choose(again=True)
                self._why = ""
            except (OpaError, CheckError) as error:
                if str(error) != self._why:
                    self._why = str(error)
                    log.warning("modules wait", why=self._why)
                look = _LONGEST_LOOK
            late = bool(self._why) or asyncio.get_running_loop().time() - self._serving_since > _SLOW
            self._verdicts.tell(self._entries.values(), moving=self._changed, late=late)
            async with self._settled:
                self._settled.notify_all()
            await self._rest(look)

    async def _until_listed(self) -> None:
        """Before the initial list is complete an OPA with modules keeps them; one without gets the shipped ones."""
        patience = PATIENCE
        while not self._listed:
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
        waiting = self._confirmed != self.revision
        if not self._why and (self._changed or self._next or (self._again and not waiting)):
            return
        behind = any(entry.left_behind for entry in self._entries.values())
        self._wake.clear()
        try:
            async with asyncio.timeout(look if waiting or self._why else _MENDED if behind else None):
                await self._wake.wait()
        except TimeoutError:
            self._again = self._again or not (waiting or self._why)

    def _note_change(self) -> None:
        self._changed = True
        self._wake.set()

    def _is_settled(self) -> bool:
        return bool(self._confirmed) and self._confirmed == self.revision and not self._changed and not self._next

    async def _in_the_way(self, claimed: Collection[DataPath]) -> Collection[DataPath]:
        try:
            return await self._activation.in_the_way(claimed)
        except OpaError as error:
            self._unasked.append(error)
            return ()

    async def _choose(self, *, again: bool) -> None:
        self._changed, self._again = False, False
        self._unasked.clear()
        asked = {author: entry.submitted for author, entry in self._entries.items()}
        for entry in self._entries.values():
            entry.reconsider({id(submission) for submission in asked.values()})
        before = self._served
        try:
            if await self._generating.look():
                self._judge.forget()
            outcome = await self._chosen(again=again)
        except BaseException:
            self._changed = True
            raise
        self._adopt(outcome, asked)
        if self._unasked:
            # Nothing is served before OPA has reported the documents that it would erase.
            self._changed = True
            raise self._unasked[0]
        bundle = assemble(self._shipped, self._served, self._generating.modules(self._served))
        self._next = bundle if bundle.revision != self.revision else None
        if self._next is None:
            self._dependents.take_back()  # another bundle may have been next
        # Rejected modules may compile with new ones; they do not delay them.
        behind = any(entry.left_behind for entry in self._entries.values())
        self._again = not again and behind and self._served is not before

    async def _serve(self, bundle: Bundle) -> None:
        self._dependents.announce(self._served)
        await self._activation.serve(bundle)
        self._dependents.serve()
        self._next = None
        self._serving_since = asyncio.get_running_loop().time()

    async def _chosen(self, *, again: bool) -> SelectedSet:
        entries = sorted(self._entries.values(), key=lambda one: (one.chosen is None, one.submitted.age))
        good = []
        alone: dict[Key, tuple[ModuleProblem, ...]] = {}
        for entry in entries:
            found = tuple(flaws(entry.submitted)) or entry.refused()
            if found:
                alone[entry.submitted.author] = found
            choice = entry.choice(again=again)
            if found:
                choice.versions = tuple(version for version in choice.versions if version is not entry.submitted)
            good.append(choice)
        outcome = await choose(good, self._judge.faults)
        outcome.problems.update(alone)
        return outcome

    def _adopt(self, outcome: SelectedSet, asked: Mapping[Key, Submission]) -> None:
        self._number += 1
        for author, entry in self._entries.items():
            chosen = outcome.chosen.get(author)
            entry.take(chosen, self._number)
            if entry.submitted is not asked.get(author):
                continue  # it has arrived meanwhile
            if chosen is entry.submitted:
                entry.problems, entry.left_behind = (), None
            else:
                entry.problems = outcome.problems.get(author) or entry.problems
                entry.left_behind = entry.submitted
        served = list(outcome.chosen.values())
        if [*map(id, served)] != [*map(id, self._served)]:
            self._former, self._served = Places(self._served), served

    async def _look(self) -> None:
        looked = await self._activation.look()
        if looked.state is State.REFUSED:
            self.bundles["refused"] += 1
            if self._culprits.of_refusal(looked, Places(self._served)):
                self._note_change()
            else:
                self._activation.give_up()
        elif looked.state is State.ACTIVE:
            self._confirmed = self.revision
            self.bundles["taken"] += 1
            for entry in self._entries.values():
                entry.confirm(self.revision)
            log.info("modules in force", revision=self.revision, submissions=len(self._served))
