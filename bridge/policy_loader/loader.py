"""The loader: from what authors hand in to the set of modules that OPA has.

Where two submissions exclude each other, the one that is in force stays, else the older one. A submission that does not
go with the others stays behind alone, by its last good version; it is looked at again whenever the set changes.
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

COALESCE = 0.02  # seconds in which changes that come together are waited for
BUNDLES = ("taken", "refused")
PATIENCE = 5.0  # seconds that the first list may take before an OPA without any Rego gets the shipped one
_LOOK = 0.01  # seconds between two looks at an OPA that is to take a bundle; they double
_LONGEST_LOOK = 0.5
_SLOW = 2.0  # seconds after which authors are told that OPA has not taken it yet
_MENDED = 30.0  # seconds between two looks at what was left behind for a reason outside of the set


class Loader:
    """Keeps the newest set of modules in force in which every one compiles with all others.

    `put` and `remove` are for who follows the authors' objects, and return at once; `run` does the work until it is
    cancelled. Listeners are told of a submission whenever its verdict is another than before. `kubernetes` is
    gives the text of that view, which stays away where OPA has documents of somebody else; empty: it is not wanted.
    `decision` gives the path of the placement decision that the webhook queries; call `reconsider` when it changes.
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
        self._changed = False  # since a set was chosen
        self._again = False  # what was left behind is to be looked at once more
        self._wake = asyncio.Event()
        self._number = 0  # of sets chosen
        self._served: list[Submission] = []
        self._former = Places(())  # of the set that was served before
        self._next: Bundle | None = None  # chosen, and not served yet
        self._unasked: list[OpaError] = []  # why it is not known what is in the way
        self._confirmed = ""  # the revision that OPA has
        self._serving_since = 0.0
        self._settled = asyncio.Condition()
        self._why = ""
        self.bundles: Counter[str] = Counter()  # that OPA was given, by what it made of them: BUNDLES

    @property
    def modules(self) -> int:
        """How many modules of authors are among those that are served."""
        return sum(len(submission.modules) for submission in self._served)

    @property
    def policies_exist(self) -> bool:
        """Whether anybody has handed in a module, good or not. Until the first list is over: True."""
        return not self._listed or any(entry.submitted.modules for entry in self._entries.values())

    @property
    def revision(self) -> str:
        """The revision of the bundle that is served; "" before the first."""
        return self._activation.revision

    def links(self) -> str | None:
        """Names the modules by which links are made; None while OPA does not have what is to be served."""
        return self._dependents.links if self._confirmed and self._confirmed == self.revision else None

    def before_rules_change(self, call: Callable[[bool], None]) -> None:
        """Call this before a bundle is served by which links are made (then True), or policies merged, otherwise."""
        self._dependents.listen(call)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict. Where a submission is removed there is none."""
        self._verdicts.listen(listener)

    def put(self, submission: Submission) -> None:
        """Take a submission, in place of what its author has handed in before."""
        entry = self._entries.get(submission.author)
        if entry is None:
            self._entries[submission.author] = Entry(submission)
        elif entry.submitted != submission:
            entry.submit(submission)
        else:
            return
        self._note_change()

    def remove(self, author: Key) -> None:
        """Take back all that an author has handed in."""
        if self._entries.pop(author, None):
            self._note_change()

    def reconsider(self) -> None:
        """Generate modules again: settings have changed."""
        self._note_change()

    def listed(self) -> None:
        """All authors that there are have handed in: from here on the set is served."""
        if not self._listed:
            self._listed = True
            self._note_change()

    async def in_force(self) -> str:
        """Wait until OPA answers from what is to be served; gives its revision."""
        while True:
            async with self._settled:
                await self._settled.wait_for(self._is_settled)
            with contextlib.suppress(OpaError):
                if (await self._activation.look()).state is State.ACTIVE and self._is_settled():
                    return self._confirmed
            await asyncio.sleep(_LONGEST_LOOK)

    async def blame(self, error: OpaRejected) -> bool:
        """Whether an evaluation failed in an author's module.

        When this returns it is out, or at its version before, and the query can be asked again.
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
                # What was chosen is served first, unless that has failed: who changes things all the time must not keep
                # everybody's waiting.
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
        """Before the first list is over an OPA that has modules keeps them; one that has none gets the shipped ones."""
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
            # Nothing is served before OPA could be asked what that would erase.
            self._changed = True
            raise self._unasked[0]
        bundle = assemble(self._shipped, self._served, self._generating.modules(self._served))
        self._next = bundle if bundle.revision != self.revision else None
        if self._next is None:
            self._dependents.take_back()  # another bundle may have been about to be served
        # What was left behind may go with what has come in; it does not keep that waiting.
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
                continue  # it has come meanwhile
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
