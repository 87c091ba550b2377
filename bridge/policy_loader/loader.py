"""The loader: makes the set of modules in OPA from the authors' submissions.

If two submissions exclude each other, the active one stays, otherwise the older one. A submission that does not compile
beside the active ones is rejected alone, and its last good version stays; it is checked again, alone, whenever the set
changes.

Three tasks share the work, and none waits for another:
- one selects which submissions compile, and serves their bundle, after each change. Those that wait are checked
  together, in a bounded time; a check that is late is halved, and what passes is served at once.
- one checks versions alone, in turns of namespaces: those that were late, those whose tests would take most of a common
  check, and rejected ones. What passes joins the next set before others are checked. After each late attempt the
  next one has twice the time, until the checker's own deadline applies.
- one follows which set OPA has, and reports that. It may be an earlier one, while changes arrive without a pause.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Protocol

import structlog

from bridge.model.keys import Key, pointer
from bridge.opa.bundle import BUNDLE_NAME, Bundle
from bridge.opa.client import STATE_OF_VIEW, STATES_OF_MODULES, BundleStatus, Failing, Opa
from bridge.opa.errors import OpaError, OpaRejected
from bridge.opa.shipped import Shipped
from bridge.policy_loader.assembly import digest, lines_that_read_view, mentions
from bridge.policy_loader.compile_check import PARSE_ERROR, PASSING, Checker, CheckError
from bridge.policy_loader.judgement import (
    DATA_OF_CLIENTS,
    IN_THE_WAY,
    RULE_CONFLICT,
    Chosen,
    Judge,
    Problems,
    ServedModules,
    describe_for,
    fails_on_examples,
    failures_by_author,
    fault_of,
    find_culprit,
    joined,
    list_claims,
    require_result,
    select,
)
from bridge.policy_loader.reporter import place, summary, summary_of_failing, utc_now
from bridge.policy_loader.submissions import (
    HIERARCHY,
    LOST,
    LOST_RULES,
    STRATEGIES,
    VIEW,
    VIEW_MISSING,
    DataPath,
    Fault,
    ModuleProblem,
    Parts,
    Places,
    Submission,
    Verdict,
    find_flaws,
)
from bridge.processes import limit_work
from bridge.work import OwnersTurns, RetryQueue

log = structlog.get_logger(__name__)

COALESCE = 0.02  # seconds to wait for further changes
BUNDLES = ("taken", "refused")
PATIENCE = 5.0  # seconds of the initial list after which an OPA without any Rego gets the shipped one
# Seconds of processor time:
QUICK = 6.0  # of a first check; a guardrail takes 1.3 s, and 2.5 s more with tests, because of the shipped modules
_FIRST = 60.0  # of a first check whose result replaces the modules of a former run
_HALVING = 2.0  # a late check and its halves together take at most this multiple of a first check
_USUAL = 3.0  # a first check takes at least this multiple of the shortest one lately
_DRIFT = 1.5  # so much longer may the shortest check become with each check: the machine's load changes
_COMMON = 0.5  # of the time of a first check: what the tests of all in it may take, by their last check
_LOOK = 0.01  # seconds between two checks of an OPA that loads a bundle; they double
_LONGEST_LOOK = 0.5
_SLOW = 2.0  # seconds after which authors get the status that OPA has not loaded it yet
_RETRY = 30.0  # seconds until a rejected version is checked again, for a reason outside of the set
_MOST_DOUBLINGS = 7  # of these seconds, for a version that OPA rejects again and again: about an hour
_FAILED = 1.0  # seconds after a check that could not be made
_REFUSED = "bundle_error"

VIEW_IN_USE = (
    "OPA has {} at data.kubernetes: stop the client that writes there and restart OPA, or remove it, or set "
    "kubernetes_view: false"
)
DISK_STORAGE = (
    "OPA keeps its documents on disk (storage.disk), where those of a former run conflict with the bridge's modules: "
    "remove that from OPA's configuration"
)

Listener = Callable[[Verdict], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A version that OPA rejects, or that fails in an evaluation, together with `others`.

    It joins once `again`, if the reason may be outside of all modules: OPA's documents, or another module than the one
    that joined last.
    """

    version: Submission
    problems: tuple[ModuleProblem, ...]
    others: tuple[Submission, ...]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Loss:
    """A version that was active, and no longer compiles because of `causes`: authors that were deleted or changed.

    Without causes it is known from the object's status of a former run. `replaced` means that failing rules are in its
    place; None: not yet.
    """

    version: Submission
    causes: tuple[Key, ...]
    text: str
    replaced: bool | None = None


@dataclass(slots=True)
class Entry:
    """One author. `chosen` is in the served set, `previous` was there before, and `confirmed` is in OPA's set.

    `problems` are of `submitted`, and `final` if no other submission can fix them. If that is `alone`, it joins others
    only after a check alone beside the served set, of at most `patience` seconds. `tried` is the version in such a
    check, `passed` the last one that did, perhaps not the last one submitted. `cost` are the seconds by which the
    author's last version prolonged a check, None before the first. `others` are the versions without which a failure of
    `submitted` in OPA may be fixed, `withdrawn` counts such failures, and at `again` it joins once more. `pending` is a
    verdict that is not reported yet, with the time since which it is known. `lost` is the last active version, if
    others have taken it out.
    """

    submitted: Submission
    chosen: Submission | None = None
    previous: Submission | None = None
    confirmed: Submission | None = None
    problems: tuple[ModuleProblem, ...] = ()
    final: bool = False
    alone: bool = False
    tried: Submission | None = None
    passed: Submission | None = None
    cost: float | None = None
    patience: float = QUICK
    others: tuple[Submission, ...] = ()
    withdrawn: int = 0
    again: float = math.inf
    reported: Verdict | None = None
    pending: tuple[Verdict | None, float] = (None, 0.0)
    since: int = 0  # the number of the set that added `chosen`
    lost: Loss | None = None
    revision: str = ""  # of the bundle that brought `confirmed` to OPA
    submitted_at: str = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        self.submit(self.submitted)

    def submit(self, submission: Submission) -> None:
        """Replace the submitted version."""
        self.submitted, self.submitted_at = submission, utc_now()
        self.problems, self.final, self.others, self.alone = (), False, (), False
        self.withdrawn, self.again = 0, math.inf
        if found := find_flaws(submission):
            self.reject(tuple(found), final=True)

    def restore_loss(self) -> None:
        """Continue a loss of a former run: what the submitted version defines stays lost until it compiles."""
        if self.submitted.lost and not self.final:
            self.lost = Loss(self.submitted, (), self.submitted.lost)

    def reject(self, problems: tuple[ModuleProblem, ...], *, final: bool = False) -> None:
        """Reject the submitted version."""
        self.problems, self.alone = problems, True
        self.final = final or any(problem.code == PARSE_ERROR for problem in problems)

    def adopt(self, chosen: Submission | None, number: int) -> None:
        """Note the version in the set of that number."""
        if chosen is not self.chosen:
            self.previous, self.chosen, self.since = self.chosen, chosen, number
        if chosen is not None:
            self.lost = None
        if chosen is self.submitted:
            self.problems, self.alone, self.patience = (), False, QUICK

    def confirm(self, version: Submission | None, revision: str) -> None:
        """Note the version that OPA has, in the bundle of that revision."""
        if self.confirmed is not version:
            self.confirmed, self.revision = version, revision if version else ""

    def withdraw(self, failure: Failure) -> None:
        """Return to the previous version, if the chosen one is the one that failed."""
        if self.chosen is failure.version:
            self.chosen, self.previous = self.previous, None
            if failure.version is self.submitted:
                self.reject(failure.problems, final=True)
                self.others = failure.others
                self.withdrawn += 1

    def readmit(self, now: float = math.inf) -> None:
        """Let a version that OPA rejected be checked again, if that is due at this time."""
        if self.withdrawn and now >= self.again:
            self.final, self.again = False, math.inf

    def reconsider(self, present: Collection[int]) -> None:
        """Let a version that failed in OPA join again, if another that took part has changed; `present` are ids."""
        if any(id(other) not in present for other in self.others):
            self.others, self.alone, self.final = (), False, False

    @property
    def is_blocked(self) -> bool:
        """Return whether only documents of another client keep the version out of OPA."""
        return any(problem.code == IN_THE_WAY for problem in self.problems)

    def verdict(self, failing: tuple[ModuleProblem, ...]) -> Verdict | None:
        """Return the verdict on the submitted version, None while it is unknown. OPA's version fails on `failing`.

        Before the first report that is the verdict on an earlier version, if OPA has one.
        """
        if self.chosen is not self.submitted and not self.problems:
            # While an author changes all the time, the first version that OPA has is reported.
            if (former := self.confirmed) is None or self.reported:
                return None
            return Verdict(former.author, former.version, former.version, (), self.revision, failing)
        # A rejection states what stays, also while OPA still has to load the set without the version before.
        stays = self.chosen if self.problems else self.confirmed
        active = stays.version if stays else ""
        one, problems = self.submitted, self.problems
        if problems and self.lost:
            first, *others = problems
            problems = (replace(first, code=LOST, message=f"{self.lost.text} ({first.message})"), *others)
        return Verdict(one.author, one.version, active, problems, self.revision, failing)

    def is_due(self, verdict: Verdict, *, settled: bool) -> bool:
        """Return whether to report a verdict now: unless it is `settled`, it may be another one soon."""
        now = asyncio.get_running_loop().time()
        if verdict != self.pending[0]:
            self.pending = (verdict, now)
        return settled or verdict.programmed or now - self.pending[1] > _SLOW


def _split(late: Sequence[tuple[Entry, Submission]]) -> list[list[tuple[Entry, Submission]]]:
    """Return two parts of those whose check was late: known authors and new ones, otherwise halves."""
    known = [one for one in late if one[0].cost is not None]
    new = [one for one in late if one[0].cost is None]
    half = len(late) // 2
    return [known, new] if known and new else [[*late[:half]], [*late[half:]]]


class Loader:
    """Keeps a set of modules active in which every one compiles with all others.

    `put` and `remove` are for followers of the authors' objects, and return immediately; `run` does the work until it
    is cancelled. Listeners get each changed verdict. `kubernetes` returns the text of that view, which is omitted while
    OPA has other documents there; empty: it is disabled.
    """

    def __init__(
        self,
        opa: Opa,
        endpoint: Endpoint,
        checker: Checker,
        shipped: Shipped,
        kubernetes: Callable[[], str] = str,
    ) -> None:
        self._opa = opa
        self._activation = Activation(opa, endpoint)
        self._kubernetes = kubernetes
        self._view = ""  # that of the next set
        self._unsupported = ""  # what in OPA's configuration excludes the bridge
        self._refusal = ""  # why OPA has no modules, or rejects some although all were active before
        self.view_missing = ""  # why OPA lacks the view `kubernetes`
        self._inspecting: list[asyncio.Future[None]] = []  # of those that wait for another look at OPA's documents
        self._guardrails: frozenset[str] = frozenset()  # shipped ones that Constraints name
        self._shipped_roots = {tuple(root.split("/")) for root in shipped.roots}
        self._judge = Judge(checker, shipped, self._find_obstacles)
        self._entries: dict[Key, Entry] = {}
        self._listed = asyncio.Event()
        self._changed = asyncio.Event()  # set if submissions have changed since the set was selected
        self._changed.set()
        self._selecting = False
        self._active = asyncio.Event()  # set while OPA has the served set
        self._loaded = asyncio.Event()  # set while that is the newest set, too
        self._wake = asyncio.Event()  # there is something to report, or to look for in OPA
        self._alone: RetryQueue[Key] = RetryQueue(self._find_lane)
        self._removals = OwnersTurns(1)
        self._removal_checks: dict[Key, asyncio.Task[list[str]]] = {}  # of the served set, by the removed author
        self._pace = 0.0  # seconds of the shortest check lately
        self._listeners: list[Listener] = []
        self.failing = Failing(self._wake.set)  # objects on which modules fail
        self._published: dict[str, dict[str, str]] | None = None  # STATES_OF_MODULES, None if it is unknown
        self._number = 0  # of selected sets
        self._served: list[Submission] = []
        self._described: tuple[str, ServedModules] | None = None  # the served set by its revision
        self._former: list[Submission] = []  # the previously served set
        self._contents: dict[str, Mapping[Key, Submission]] = {}  # of bundles that OPA may have, by revision
        self._failures: list[Failure] = []  # versions that the next selection withdraws
        # By the author of a module that fails in evaluations, its version, and who was withdrawn because of that.
        self._suspects: dict[Key, tuple[Submission | None, frozenset[Key]]] = {}
        self._sound: set[Key] = set()  # authors whose modules in this set do not fail on examples
        self._digests = ("", "")  # of the modules that declare links, and of those that merge policies
        self._links: str | None = ""  # the first of them; None before the bundle with these modules is served
        self._links_in_opa = ""  # the same of the modules that OPA has
        self._rules_listeners: list[Callable[[bool], None]] = []
        self._loss_listeners: list[Callable[[Key, Sequence[Key]], None]] = []
        self._query_errors: list[OpaError] = []  # why conflicts with OPA's documents are unknown
        self._confirmed = ""  # the revision in OPA
        self._why = ""  # the last failure, "" after a success
        self.bundles: Counter[str] = Counter()  # bundles for OPA, by their result: BUNDLES

    @property
    def modules(self) -> int:
        """Return the number of authors' modules among the served ones."""
        return sum(len(submission.modules) for submission in self._served)

    @property
    def revision(self) -> str:
        """Return the revision of the served bundle; "" before the first."""
        return self._activation.revision

    def was_served_recently(self, revision: str) -> bool:
        """Return whether a bundle was replaced so recently that OPA may not have its successor yet."""
        return self._activation.was_served_recently(revision)

    def describe_served(self, revision: str) -> ServedModules | None:
        """Return the served set if its bundle has this revision."""
        return self._described[1] if self._described and self._described[0] == revision else None

    @property
    def unready(self) -> str:
        """Return why modules in OPA cannot read what they need; "" if they can."""
        if self._unsupported or self._refusal:
            return self._unsupported or self._refusal
        readers = self._find_view_readers()
        more = f" and {len(readers) - 1} more" if len(readers) > 1 else ""
        return f"{self.view_missing}; read by {min(readers)}{more}" if readers else ""

    def links(self) -> str | None:
        """Return the digest of the modules that declare links; None while OPA has others than the next set.

        Changes of other modules do not matter: they may arrive without a pause.
        """
        return self._links if self._confirmed and self._links == self._links_in_opa else None

    def before_rules_change(self, call: Callable[[bool], None]) -> None:
        """Call this before serving a bundle that changes links (then with True), or the merge of policies."""
        self._rules_listeners.append(call)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict. A removed submission has none."""
        self._listeners.append(listener)

    def submit(self, submission: Submission) -> None:
        """Accept a submission, which replaces its author's previous one."""
        entry = self._entries.get(submission.author)
        if entry is None:
            entry = self._entries[submission.author] = Entry(submission)
            if not self._listed.is_set():
                entry.restore_loss()
                if submission.tests and submission.in_force == submission.version:
                    self._judge.note_passed(submission)
        elif entry.submitted != submission:
            entry.submit(submission)
        else:
            return
        self.reconsider()

    def remove(self, author: Key) -> None:
        """Remove an author's submission."""
        self._suspects.pop(author, None)
        if self._entries.pop(author, None):
            self.reconsider()

    def reconsider(self) -> None:
        """Select a set again: submissions, their checks, or settings have changed."""
        self._changed.set()
        self._loaded.clear()
        self._wake.set()

    def use_guardrails(self, packages: frozenset[str]) -> None:
        """Add these shipped guardrails to the set from now on."""
        self._guardrails = packages
        self.reconsider()

    async def inspect(self) -> None:
        """Look at OPA's documents again, and return when a set is served that erases none of them.

        An OPA without a bundle has just started, perhaps with Rego or data of its user at the paths of submissions.
        """
        if not self._listed.is_set():
            return
        self._confirmed = ""
        self._active.clear()
        self._loaded.clear()
        self._wake.set()
        for entry in self._entries.values():
            entry.readmit()  # this OPA may be another version
        self._alone.add([author for author, entry in self._entries.items() if entry.is_blocked or entry.withdrawn])
        if self.view_missing or await self._finds_obstacles_to_served():
            done = asyncio.get_running_loop().create_future()
            self._inspecting.append(done)
            self.reconsider()
            await done

    @property
    def _claims_of_served(self) -> set[DataPath]:
        """Return the parts of `data` at which the served set has modules, data or the view."""
        claims = {at for submission in self._served for _, at in list_claims(submission)}
        return claims | {VIEW} if self._view else claims

    async def _finds_obstacles_to_served(self) -> bool:
        """Return whether OPA has documents of others where the served set has modules, data or the view."""
        claims = self._claims_of_served
        while True:
            try:
                return bool(await self._activation.find_obstacles(claims))
            except OpaError:  # it does not listen yet
                await asyncio.sleep(_LONGEST_LOOK)

    def listed(self) -> None:
        """Note that all existing authors have submitted: from here on the set is served."""
        self._listed.set()

    async def wait_until_active(self) -> str:
        """Wait until OPA has the set that is being served; return its revision. A newer one may be in preparation."""
        return await self._wait_for_opa(self._active)

    async def wait_until_settled(self) -> str:
        """Wait until OPA has the set of all submissions, which may never be while they change; return its revision."""
        return await self._wait_for_opa(self._loaded)

    async def _wait_for_opa(self, condition: asyncio.Event) -> str:
        while True:
            await condition.wait()
            with contextlib.suppress(OpaError, BundleRefused):
                active = await self._activation.find_active()
                if active == self.revision and condition.is_set():
                    return active
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
                    await self.wait_until_settled()
            return True
        return False

    def _withdraw_culprit(self, fault: Fault) -> None:
        """Withdraw the version in which an evaluation failed, or the latest that adds rules to its package."""
        culprit = find_culprit(fault, self._served, self._rank)
        entry = self._entries.get(culprit.author) if culprit else None
        if entry is None or entry.chosen is None:
            return
        if entry.confirmed is not None and entry.confirmed is not entry.chosen:
            return  # OPA still evaluates another version: the query is repeated once it has the chosen one
        log.warning("module failed", submission=str(entry.submitted.author), why=fault.problem.message)
        self._withdraw(entry, entry.chosen, [fault])
        if fault.author:
            self._clear_suspects(fault.author, entry.submitted.author)
        self.reconsider()

    def _clear_suspects(self, failing: Key, culprit: Key) -> None:
        """Let those join again who were withdrawn because of the same module before: it fails without them, too.

        If it fails since one of them is back, the others stay where they are.
        """
        version = self._entries[failing].submitted if failing in self._entries else None
        known, suspects = self._suspects.get(failing, (version, frozenset[Key]()))
        suspects = suspects if known is version else frozenset()
        self._suspects[failing] = (version, suspects | {culprit})
        for author in () if culprit in suspects else suspects:
            if (entry := self._entries.get(author)) and entry.final and entry.withdrawn:
                if culprit == failing:  # the module itself
                    entry.readmit()
                    self._alone.add([author])
                else:
                    self._join_later(entry)

    def _join_later(self, entry: Entry) -> None:
        """Check a version that OPA rejected once more, after a time that doubles."""
        delay = _RETRY * 2 ** min(entry.withdrawn - 1, _MOST_DOUBLINGS)
        entry.again = asyncio.get_running_loop().time() + delay
        self._alone.add_later(entry.submitted.author, delay)

    def _rank(self, served: Submission) -> tuple[int, tuple[bool, str, Key]]:
        """Return a sort key: the version that joined the set last is the last."""
        entry = self._entries.get(served.author)
        return (entry.since if entry else 0, served.age)

    def _withdraw(self, entry: Entry, version: Submission, faults: Sequence[Fault], *, again: bool = False) -> None:
        """Let the next selection withdraw this version; another one of an author that it uses may fix it."""
        problems = tuple(describe_for(version.author, fault) for fault in faults)
        self._failures.append(Failure(version, problems, self._find_used(entry, version), again))

    def _find_used(self, entry: Entry, version: Submission) -> tuple[Submission, ...]:
        """Return what authors have submitted whose modules or data a version may use, perhaps by those of others."""
        chosen = {id(one): one for one in self._entries.values() if one is not entry and one.chosen}
        owners = Parts(
            (at, number) for number, one in chosen.items() if one.chosen for _, at in list_claims(one.chosen)
        )
        found: set[int] = set()
        left = [version]
        while left:
            one = left.pop()
            used = {number for path in mentions(one) | one.claimed for number in owners.find_overlapping(path)} - found
            found |= used
            left += [other for number in used if (other := chosen[number].chosen)]
        return tuple(chosen[number].submitted for number in found)

    async def run(self) -> None:
        """Check and serve until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._check_alone())
            tasks.create_task(self._restore_view())
            tasks.create_task(self._follow_opa())
            await self._make_sets()

    async def _wait_until_listed(self) -> None:
        """Before the initial list is complete an OPA with modules keeps them; one without gets the shipped ones."""
        patience = PATIENCE
        while not self._listed.is_set():
            try:
                async with asyncio.timeout(patience):
                    await self._listed.wait()
            except TimeoutError:
                with contextlib.suppress(OpaError):
                    if not self.revision and await self._opa.bundle_revision() is None:
                        await self._activation.serve(self._judge.bundle((), replicated=True))
                patience = 1.0

    async def _make_sets(self) -> None:
        """Select and serve a set after each change, until cancelled."""
        await self._wait_until_listed()
        while True:
            await self._changed.wait()
            await asyncio.sleep(COALESCE)
            self._selecting = True
            self._changed.clear()  # a change from here on makes the next selection, after this one is served
            inspecting, self._inspecting = self._inspecting, []
            try:
                await self._make_set()
                self._why = ""
            except (OpaError, CheckError) as error:
                self._log_delay(error)
                self._changed.set()
                self._inspecting += inspecting
                await asyncio.sleep(_LONGEST_LOOK)
            else:
                for done in inspecting:
                    if not done.done():  # its client may have left
                        done.set_result(None)
            self._selecting = False
            self._settle()

    @property
    def _stale(self) -> bool:
        return self._selecting or self._changed.is_set()

    def _settle(self) -> None:
        """Note whether OPA has the newest set, and report what that changes."""
        if self._confirmed == self.revision:
            self._active.set()
            if not self._stale:
                self._loaded.set()
        self._wake.set()

    def _log_delay(self, error: Exception) -> None:
        if str(error) != self._why:
            self._why = str(error)
            log.warning("module activation delayed", why=self._why)

    async def _follow_opa(self) -> None:
        """Note which set OPA has, and report that, until cancelled."""
        await self._listed.wait()
        looked, pause = "", _LOOK
        while True:
            self._wake.clear()
            looked, pause = self.revision, min(2 * pause, _LONGEST_LOOK) if looked == self.revision else _LOOK
            if self._confirmed != self.revision:
                try:
                    await self._look()
                except OpaError as error:
                    self._log_delay(error)
            failing = self._failing()
            self._report(failing)
            await self._publish(failing)
            with contextlib.suppress(TimeoutError):
                resting = self._loaded.is_set() and self._published is not None
                async with asyncio.timeout(None if resting else pause):
                    await self._wake.wait()

    def _report(self, failing: Mapping[Key, tuple[ModuleProblem, ...]]) -> None:
        """Report changed verdicts; while the set changes, or OPA has not loaded it, only those that stay."""
        for entry in list(self._entries.values()):
            verdict = entry.verdict(failing.get(entry.submitted.author, ()))
            settled = not self._stale and entry.chosen is entry.confirmed
            if verdict and verdict != entry.reported and entry.is_due(verdict, settled=settled):
                entry.reported = verdict
                if verdict.problems:
                    log.warning("submission rejected", submission=str(verdict.author), why=summary(verdict))
                for listener in self._listeners:
                    listener(verdict)

    async def _publish(self, failing: Mapping[Key, tuple[ModuleProblem, ...]]) -> None:
        """Write to OPA which submissions are being checked, rejected, or fail on objects, for readers of OPA alone."""
        states: dict[str, dict[str, str]] = {
            str(author): {"failing": summary_of_failing(problems)} for author, problems in failing.items()
        }
        for author, entry in self._entries.items():
            if entry.submitted is not entry.confirmed and not entry.problems and entry.submitted.modules:
                states.setdefault(str(author), {})["since"] = entry.submitted_at
            elif (verdict := entry.verdict(())) and verdict.problems:
                states.setdefault(str(author), {})["rejected"] = summary(verdict)
        if self.view_missing:
            states[STATE_OF_VIEW] = {"missing": self.view_missing}
        if states != self._published:
            self._published = None
            with contextlib.suppress(OpaError):
                await self._opa.put(STATES_OF_MODULES, states)
                self._published = states

    def _failing(self) -> Mapping[Key, tuple[ModuleProblem, ...]]:
        found = dict(failures_by_author(self.failing.errors, self._served, self._rank))
        for author, problems in self._find_view_readers().items():
            found[author] = (*problems, *found.get(author, ()))
        return found

    def _find_view_readers(self) -> Mapping[Key, tuple[ModuleProblem, ...]]:
        """Return the active modules that read the view while OPA lacks it, as problems of their authors."""
        if not self.view_missing:
            return {}
        view = self._kubernetes()
        return {
            submission.author: tuple(
                ModuleProblem(name, line, 0, VIEW_MISSING, self.view_missing) for name, line in found
            )
            for submission in self._served
            if (found := lines_that_read_view(submission, view).items())
        }

    async def _find_obstacles(self, claimed: Collection[DataPath]) -> Mapping[DataPath, str]:
        try:
            return await self._activation.find_obstacles(claimed)
        except OpaError as error:
            self._query_errors.append(error)
            return {}

    async def _make_set(self) -> None:
        """Select a set and serve it. Those whose check is late delay no others."""
        await self._prepare()
        entries = sorted(self._entries.values(), key=lambda one: (one.chosen is None, one.submitted.age))
        active = [entry.chosen for entry in entries if entry.chosen]
        passing = [(entry, entry.passed) for entry in entries if entry.passed]
        waiting = [one for one in entries if one.submitted is not one.chosen and one.submitted is not one.passed]
        joining = self._take_cheap([one for one in waiting if not one.alone])
        passed = [version for _, version in passing]
        chosen, problems = await select(active, passed, self._judge.find_faults, self._judge.may_break)
        for entry, version in passing:
            if entry.passed is version:
                entry.passed = None
        if passed or not joining:  # what has passed beside the served set waits for no check of others
            await self._serve(chosen, problems)
        if joining:
            await self._join(chosen, problems, joining)

    async def _prepare(self) -> None:
        """Take what is generated for the set, and failures in OPA, into account."""
        self._query_errors.clear()
        await self._find_unsupported()
        view = self._kubernetes()
        lost = await self._replace_lost()
        taken = await self._find_obstacles([VIEW]) if view else {}
        missing = VIEW_IN_USE.format(taken[VIEW]) if taken else ""
        if missing and missing != self.view_missing:
            log.warning("view omitted", why=missing)
        self.view_missing = missing
        self._view = "" if missing else view
        self._judge.generate(self._view, self._guardrails, lost)
        for failure in self._failures:
            if entry := self._entries.get(failure.version.author):
                entry.withdraw(failure)
                if failure.again and entry.withdrawn:
                    self._join_later(entry)
        self._failures.clear()
        present = {id(entry.submitted) for entry in self._entries.values()}
        for entry in self._entries.values():
            entry.reconsider(present)

    def _take_cheap(self, waiting: Sequence[Entry]) -> list[Entry]:
        """Return those whose tests fit into a common check, the cheapest first; check the others alone."""
        by_cost = sorted(waiting, key=lambda one: one.cost or 0.0)
        sums = accumulate(one.cost or 0.0 for one in by_cost)
        costly = {id(one) for one, spent in zip(by_cost, sums, strict=True) if spent > _COMMON * self._bound}
        self._check_later(one for one in waiting if id(one) in costly)
        return [one for one in waiting if id(one) not in costly]

    @property
    def _bound(self) -> float:
        """Return the seconds of a first check."""
        return max(QUICK, _USUAL * self._pace)

    async def _join(self, chosen: Chosen, problems: Problems, joining: Sequence[Entry]) -> None:
        """Serve the chosen ones with those of `joining` that pass; what is late alone is checked alone.

        Before the first set, an OPA that has modules of a former run keeps them until all have been checked.
        """
        replaces = not self.revision and await self._has_former_set()
        bound = max(self._bound, _FIRST) if replaces else self._bound
        left = _HALVING * bound
        waiting = [[(entry, entry.submitted) for entry in joining]]
        while waiting:
            part = waiting.pop(0)
            try:
                async with limit_work(min(bound, max(left, 0.0))) as work:
                    submitted = [submission for _, submission in part]
                    active = [*chosen.values()]
                    chosen, more = await select(active, submitted, self._judge.find_faults, self._judge.may_break)
                problems = {**problems, **more}
                if not more:
                    self._note_pace(work.seconds)
                for entry, submission in part:
                    entry.cost, entry.tried, entry.passed = self._judge.find_cost(submission), None, None
            except TimeoutError:
                if len(part) > 1 and work.seconds < left:
                    waiting[:0] = _split(part)
                else:
                    for entry, _ in part:
                        entry.cost = bound
                    self._check_later(entry for entry, _ in part)
            left -= work.seconds
            if not (replaces and waiting):
                await self._serve(chosen, problems)

    async def _has_former_set(self) -> bool:
        """Return whether OPA has a bundle of the bridge; False if it does not respond, and has to load one anyway."""
        with contextlib.suppress(OpaError):
            return await self._opa.bundle_revision() is not None
        return False

    def _note_pace(self, took: float) -> None:
        """Note the seconds of a check without faults."""
        self._pace = min(took, _DRIFT * self._bound / _USUAL)

    async def find_dependents(self, author: Key) -> list[str] | None:
        """Return the authors whose active modules do not compile without those of this one, each with the reason.

        None if it has no active modules. Raises OpaError if it is unknown. The check goes on after a caller's time has
        ended: a later call about the same set gets its result.
        """
        if all(one.author != author for one in self._served):
            return None
        check = self._removal_checks.get(author)
        if check is None:
            check = asyncio.create_task(self._check_removal(author))
            self._removal_checks[author] = check
            check.add_done_callback(functools.partial(self._forget_failed_removal, author))
        try:
            return await asyncio.shield(check)
        except CheckError as error:
            raise OpaError(str(error)) from error

    def _forget_failed_removal(self, author: Key, check: asyncio.Task[list[str]]) -> None:
        failed = check.cancelled() or check.exception() is not None
        if failed and self._removal_checks.get(author) is check:
            del self._removal_checks[author]

    async def _check_removal(self, author: Key) -> list[str]:
        async with self._removals.of(author.namespace):  # `opa` takes much memory
            rest = [one for one in self._served if one.author != author]
            if len(rest) == len(self._served):  # it was deleted meanwhile
                return []
            chosen, problems = await select(rest, (), self._judge.find_faults)
        lost = [one for one in rest if one.author not in chosen]
        return [f"{one.author} {place(first)}{first.message}" for one in lost for first in problems[id(one)][:1]]

    @property
    def lost(self) -> Mapping[Key, str]:
        """Return the authors whose active version others took out, each with the reason."""
        return {author: entry.lost.text for author, entry in self._entries.items() if entry.lost}

    async def _replace_lost(self) -> dict[Key, Mapping[str, str]]:
        """Return modules in which the rules of lost versions fail, by author."""
        return {
            author: modules
            for author, entry in self._entries.items()
            if entry.lost and entry.lost.replaced
            if (modules := await self._judge.make_failing(entry.lost.version, self._served))
        }

    async def _fail_lost(self) -> None:
        """Put failing rules in the place of those that were lost since the last set, if they compile with the set."""
        fresh = [entry for entry in self._entries.values() if entry.lost and entry.lost.replaced is None]
        await self._judge.read_rules(entry.lost.version for entry in fresh if entry.lost)
        if fresh and not await self._try_to_fail(fresh) and len(fresh) > 1:
            for entry in fresh:
                await self._try_to_fail([entry])
        self._judge.generate(self._view, self._guardrails, await self._replace_lost())

    async def _try_to_fail(self, entries: Sequence[Entry]) -> bool:
        """Note which of these get failing rules; return whether the set compiles with all of them."""
        lost = {entry.submitted.author: entry.lost for entry in entries if entry.lost}
        # The status of a former run is the author's to write: it must not take others' names.
        kept = {
            author: modules
            for author, loss in lost.items()
            if loss.causes or await self._judge.may_claim(loss.version, self._served)
            if (modules := await self._judge.make_failing(loss.version, self._served)) is not None
        }
        self._judge.generate(self._view, self._guardrails, await self._replace_lost() | kept)
        faults = await self._judge.find_faults(self._served) if kept else ()
        require_result(fault.problem.code for fault in faults)
        for entry in entries:
            if entry.lost and entry.submitted.author in kept:
                entry.lost = replace(entry.lost, replaced=not faults)
            else:
                entry.lost = None
        if faults:
            log.error("lost rules do not fail", submissions=[*map(str, kept)], why=faults[0].problem.message)
        return not faults

    def _note_losses(self, before: Sequence[Submission], chosen: Chosen, problems: Problems) -> None:
        """Note which versions of the former set others took out, and which they are."""
        changed = {one.author: one for one in before if chosen.get(one.author) is not one}
        for author, version in changed.items():
            entry = self._entries.get(author)
            codes = [one.code for one in problems.get(id(version), ())]
            is_lost = any(code.startswith("rego_") or code == RULE_CONFLICT for code in codes)
            if entry is None or author in chosen or entry.lost or not is_lost:  # its place in `data` is taken
                continue
            others = {
                key: one
                for key, one in changed.items()
                if key != author and (key in chosen or key not in self._entries)
            }
            owners = Parts((package, key) for key, one in others.items() for package in one.claimed)
            named = {owner for path in mentions(version) for owner in owners.find_above(path)}
            causes = tuple(sorted(named or others))
            if causes:
                done = "was deleted" if causes[0] not in self._entries else "was changed"
                text = f"{LOST_RULES} {causes[0]} {done}"
                entry.lost = Loss(version, causes, text)
                log.warning("rules lost", submission=str(author), causes=[*map(str, causes)])
                for call in self._loss_listeners:
                    call(author, causes)

    def on_loss(self, call: Callable[[Key, Sequence[Key]], None]) -> None:
        """Call this with each author whose rules are lost, and the authors because of whom they are."""
        self._loss_listeners.append(call)

    async def _find_unsupported(self) -> None:
        try:
            self._unsupported = await self._activation.find_unsupported()
        except OpaError as error:
            self._query_errors.append(error)
        if self._unsupported:
            self._query_errors.append(OpaError(self._unsupported))

    async def _restore_view(self) -> None:
        """Serve the view again once OPA has no other documents in its place, until cancelled."""
        while True:
            await asyncio.sleep(_RETRY)
            if self.view_missing:
                with contextlib.suppress(OpaError):
                    if not await self._activation.find_obstacles([VIEW]):
                        self.reconsider()

    def _check_later(self, late: Iterable[Entry]) -> None:
        """Check these authors alone; also versions that came meanwhile."""
        for entry in late:
            if not entry.final and entry.passed is not entry.submitted:
                entry.alone = True
                self._alone.add([entry.submitted.author])

    def _find_lane(self, author: Key) -> str:
        """Return whose turn a check alone takes: that of a namespace, and of its late authors apart."""
        entry = self._entries.get(author)
        return f"{author.namespace}{' late' if entry and entry.patience > QUICK else ''}"

    def _adopt(self, chosen: Chosen, problems: Problems) -> None:
        self._number += 1
        served = list(chosen.values())
        changed = [*map(id, served)] != [*map(id, self._served)]
        if changed:
            self._note_losses(self._served, chosen, problems)
            self._former, self._served = self._served, served
            self._sound.clear()
            self._removal_checks.clear()
            self._judge.note_served(served, self._number)
        for author, entry in self._entries.items():
            entry.adopt(chosen.get(author), self._number)
            if entry.submitted is entry.chosen:
                continue
            if rejected := problems.get(id(entry.submitted)):
                self._reject(entry, rejected)
            elif changed and not any(problem.code in PASSING for problem in entry.problems):
                self._alone.add([author])

    async def _serve(self, chosen: Chosen, problems: Problems) -> None:
        self._adopt(chosen, problems)
        await self._fail_lost()
        if self._query_errors:
            # Nothing is served before OPA has reported the documents that it would erase.
            raise self._query_errors[0]
        bundle = self._judge.bundle(self._served, replicated=True)
        kept = {self._confirmed, self._activation.handed, self.revision}
        self._contents = {revision: content for revision, content in self._contents.items() if revision in kept}
        self._contents[bundle.revision] = {submission.author: submission for submission in self._served}
        self._described = (bundle.revision, self._judge.describe(self._served))
        digests = (digest(self._served, HIERARCHY), digest(self._served, STRATEGIES))
        before, self._digests = self._digests, digests
        if bundle.revision != self.revision:
            if digests != before:
                self._links = None
                for call in self._rules_listeners:
                    call(digests[0] != before[0])
            await self._activation.serve(bundle)
            self._active.clear()
        self._links = digests[0]
        if self._confirmed == self.revision:
            self._confirm(self.revision)
        self._wake.set()

    async def _look(self) -> None:
        revision = self.revision
        try:
            active = await self._activation.find_active()
        except BundleLost as lost:
            if not self._confirmed:  # otherwise OPA decides with earlier modules
                self._refusal = str(lost)
            raise
        except BundleRefused as refused:
            self.bundles["refused"] += 1
            # Another bundle may own packages of the set since OPA's last start.
            own = await self._activation.find_obstacles(self._claims_of_served)
            shipped = {} if own else await self._activation.find_obstacles(self._shipped_roots)
            if revision == self.revision:  # otherwise another set is served by now
                self._take_refusal(refused, shipped, can_change=bool(own))
            return
        if active and active != self._confirmed and active in self._contents:
            self.bundles["taken"] += 1
            log.info("modules activated", revision=active, submissions=len(self._contents[active]))
            self._confirm(active)

    def _take_refusal(self, refused: BundleRefused, shipped: Mapping[DataPath, str], *, can_change: bool) -> None:
        """Let another set be served; if none can be, keep the reason. `shipped` is what is at the bridge's packages."""
        if shipped:
            path, owner = min(shipped.items())  # no author can do anything about it
            self._refusal = f"OPA has {owner} at {'.'.join(path)}, which the bridge's bundle must own: remove that"
            log.error("modules rejected by OPA", why=self._refusal)
        elif can_change or self._withdraw_refused(refused):
            self.reconsider()
            return
        self._activation.give_up()

    def _confirm(self, revision: str) -> None:
        """Note that OPA has the bundle of this revision."""
        self._confirmed, self._why, content = revision, "", self._contents[revision]
        self._links_in_opa = digest([*content.values()], HIERARCHY)
        for author, entry in self._entries.items():
            entry.confirm(content.get(author), revision)
        if revision == self.revision:
            self._refusal = ""
            self._contents = {revision: content}
        self._settle()

    def _withdraw_refused(self, refused: BundleRefused) -> bool:
        """Withdraw the versions that OPA names, otherwise the latest; return False if all were active before."""
        content = self._contents.get(self.revision, {})
        errors = refused.errors or ({"message": str(refused), "code": _REFUSED},)
        faults = [fault_of(error, Places(content.values())) for error in errors]
        fresh = [
            entry
            for author, entry in self._entries.items()
            if (version := content.get(author)) and version is not entry.confirmed
        ]
        named = [entry for entry in fresh if any(fault.author == entry.submitted.author for fault in faults)]
        culprits = named or sorted(fresh, key=lambda entry: self._rank(entry.submitted))[-1:]
        for entry in culprits:
            self._withdraw(entry, content[entry.submitted.author], faults, again=True)
        if not culprits:
            self._refusal = f"OPA rejects the modules: {refused}"
            log.error("modules rejected by OPA", why=str(refused), errors=refused.errors)
        return bool(culprits)

    def _reject(self, entry: Entry, problems: tuple[ModuleProblem, ...]) -> None:
        entry.reject(problems)
        self._alone.add_later(entry.submitted.author, _RETRY)

    async def _check_alone(self) -> None:
        """Check one version after the other that is `alone`, of each namespace in turn, until cancelled."""
        while True:
            [author] = await self._alone.take(1)
            entry = self._entries.get(author)
            if entry is None:
                continue
            now = asyncio.get_running_loop().time()
            entry.readmit(now)
            if now < entry.again < math.inf:
                self._alone.add_later(author, entry.again - now)
            elif entry.alone and not entry.final:
                await self._try(entry)

    def _find_rivals(self, entry: Entry) -> dict[Key, Submission]:
        """Return rejected versions of others at the same places, whose active versions keep this one out.

        Authors who exchange packages keep each other out, and none could change first.
        """

        def places(one: Entry) -> set[DataPath]:
            return {at for version in (one.submitted, one.chosen) if version for _, at in list_claims(version)}

        if entry.chosen is None:
            return {}
        mine = Parts((at, at) for at in places(entry))
        return {
            author: one.submitted
            for author, one in self._entries.items()
            if one is not entry and one.chosen and one.problems and one.alone and not one.final
            if any(map(mine.overlaps, places(one)))
        }

    async def _pass_with_rivals(self, entry: Entry, base: Sequence[Submission], limit: float) -> bool:
        """Let a rejected version pass with its rivals, if a check in time finds no faults of all together."""
        rivals = self._find_rivals(entry)
        together = joined({one.author: one for one in base}, [entry.submitted, *rivals.values()])
        try:
            async with limit_work(limit):
                if not rivals or await self._judge.find_faults([*together.values()]):
                    return False
        except TimeoutError:
            return False
        for author, version in rivals.items():
            if rival := self._entries.get(author):
                rival.passed = version
        return True

    async def _try(self, entry: Entry) -> None:
        """Check a version beside the served set: it may join then, or is rejected."""
        base, submission, before = self._served, entry.submitted, entry.problems
        limit, entry.tried = max(entry.patience, self._bound), submission
        try:
            async with limit_work(limit) as work:
                chosen, found = await select(base, [submission], self._judge.find_faults, self._judge.may_break)
                problems = () if chosen.get(submission.author) is submission else found[id(submission)]
            if problems and await self._pass_with_rivals(entry, base, limit):
                problems = ()
        except TimeoutError:
            taken = f"{round(limit, 1):g} s of processor time"
            text = f"checking this version took more than {taken}; the bridge will retry it on its own"
            problems = (ModuleProblem("", 0, 0, "timeout", text),)
            entry.patience = 2 * limit
            log.warning("slow modules", submission=str(submission.author), seconds=limit)
        except (OpaError, CheckError):
            self._alone.add_later(submission.author, _FAILED)
            return
        if self._entries.get(submission.author) is not entry or entry.tried is not submission:
            self._alone.add([submission.author])  # it is gone, or a common check has decided on a later version
            return
        took = work.seconds
        if not problems:
            self._note_pace(took)
            entry.passed = submission
            self.reconsider()
        entry.cost = max(self._judge.find_cost(submission), took - self._bound / _USUAL)
        if entry.submitted is not submission:
            return
        if not problems:
            entry.alone = False
            return
        self._reject(entry, problems)
        if self._served is not base:
            self._alone.add([submission.author])
        if problems != before:
            self._wake.set()


_AT_ONCE = 16  # queries to OPA
# After a bundle that OPA has not activated, its next request may still be for that one, and while OPA activates the
# successor, it has noted that request and still reports the former error.
_DOUBTS = 2
RECENT = 30.0  # seconds: several times as long as a loaded OPA needs to fetch and activate a bundle


class Endpoint(Protocol):
    """Serves one bundle at a time; `handed_revision` is the revision that OPA got last."""

    handed_revision: str

    async def serve_next(self, bundle: Bundle) -> None:
        """Serve another bundle from now on."""


class BundleRefused(Exception):
    """OPA rejects the served bundle; `errors` are its own, with message and location."""

    def __init__(self, message: str, errors: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.errors = errors


class BundleLost(OpaError):
    """OPA got no bundle, or could not read or verify it: no module is the cause."""


class Activation:
    """Serves bundles to one OPA, and checks their state. Methods raise OpaError if OPA does not respond."""

    def __init__(self, opa: Opa, endpoint: Endpoint) -> None:
        self.revision = ""
        self._replaced: dict[str, float] = {}  # revisions served until then
        self._opa = opa
        self._endpoint = endpoint
        self._before = ""  # the time of OPA's last request whose result is not this bundle's
        self._doubts = 0  # further requests of OPA whose reported result may be another bundle's
        self._given_up = ""  # the revision that OPA rejects, and that stays

    async def serve(self, bundle: Bundle) -> None:
        """Serve a bundle from now on. Raises OpaError, and serves nothing, if OPA does not respond."""
        status = await self._read_status()
        self._before, self._doubts = (status.last_request, 0) if status else ("", 0)
        if status and (status.code or self.handed not in {"", status.active_revision}):  # or its result is not known
            self._doubts = _DOUBTS
        now = asyncio.get_running_loop().time()
        self._replaced = {old: when for old, when in self._replaced.items() if when > now - RECENT}
        self._replaced[self.revision] = now
        self.revision = bundle.revision
        self._given_up = ""
        await self._endpoint.serve_next(bundle)

    def was_served_recently(self, revision: str) -> bool:
        """Return whether a revision was replaced in the last RECENT seconds, so OPA may not have its successor yet."""
        return self._replaced.get(revision, -RECENT) > asyncio.get_running_loop().time() - RECENT

    @property
    def handed(self) -> str:
        """Return the revision that OPA got last, which may be an earlier one."""
        return self._endpoint.handed_revision

    async def find_active(self) -> str | None:
        """Return the revision that OPA has, None if it has none. Raises BundleRefused if it rejects the served one.

        Raises BundleLost if OPA did not get all of a bundle: it repeats the request.
        """
        handed = self.handed  # another bundle may be served while OPA responds
        status = await self._read_status()
        if status is None or status.active_revision == self.revision:
            return status.active_revision if status else None
        if (
            self._given_up == self.revision
            or not status.code
            or handed != self.revision
            or status.last_request == self._before
        ):
            return status.active_revision
        if not status.has_read:
            raise BundleLost(f"OPA cannot download the bundle: {status.message}")
        if self._doubts:
            self._before, self._doubts = status.last_request, self._doubts - 1
            return status.active_revision
        raise BundleRefused(status.message, status.errors)

    def give_up(self) -> None:
        """Stop reporting why OPA rejects this bundle: there is no other to serve."""
        self._given_up = self.revision

    async def find_obstacles(self, claimed: Collection[DataPath]) -> Mapping[DataPath, str]:
        """Return the parts of `data` that OPA's bundle does not own yet and that others own, with what is there.

        Others own what is not empty, and the roots of other bundles.
        """
        while claimed:
            roots = await self._roots()
            owned = roots.pop(BUNDLE_NAME, [])
            taken = await self._find_taken(claimed, owned, roots)
            if not taken or owned == (await self._roots()).get(BUNDLE_NAME, []):  # otherwise OPA has activated another
                return await self._describe_obstacles(taken, roots) if taken else {}
        return {}

    async def _describe_obstacles(
        self, taken: Collection[DataPath], roots: Mapping[str, Sequence[DataPath]]
    ) -> dict[DataPath, str]:
        """Return the owner of each of these parts: a bundle, a policy, or another client's data."""
        policies = await self._opa.packages_of_policies()
        owners = Parts(
            [(root, f"the bundle {name}") for name in sorted(roots) for root in roots[name]]
            + [
                (package, f"the policy {name}")
                for name, package in sorted(policies.items())
                if not name.startswith(f"{BUNDLE_NAME}/")
            ]
        )
        return {path: min(owners.find_overlapping(path), default=DATA_OF_CLIENTS) for path in taken}

    async def find_unsupported(self) -> str:
        """Return what in OPA's configuration excludes the bridge; "" for nothing."""
        try:
            storage = (await self._opa.config()).get("storage")
        except OpaRejected:  # the user's authorization policy denies it
            return ""
        return DISK_STORAGE if isinstance(storage, Mapping) and storage.get("disk") else ""

    async def _roots(self) -> dict[str, list[DataPath]]:
        """Return the roots of OPA's bundles by name; one without a manifest owns everything."""
        bundles: Mapping[str, Any] = await self._opa.get(pointer("system", "bundles")) or {}
        return {
            name: [tuple(filter(None, root.split("/"))) for root in bundle.get("manifest", {}).get("roots", [""])]
            for name, bundle in bundles.items()
        }

    async def _find_taken(
        self, claimed: Collection[DataPath], owned: Sequence[DataPath], others: Mapping[str, Sequence[DataPath]]
    ) -> list[DataPath]:
        own = Parts((root, root) for root in owned)
        foreign = Parts((root, root) for roots in others.values() for root in roots)
        fresh = [path for path in claimed if not own.contains(path)]
        limit = asyncio.Semaphore(_AT_ONCE)

        async def is_taken(path: DataPath) -> bool:
            if foreign.overlaps(path):
                return True
            async with limit:
                try:
                    found = await self._opa.get(pointer(*path))
                except OpaRejected:
                    return True  # rules of another author, which fail
            for root in own.find_below(path):
                found = _remove_path(found, root[len(path) :])
            return found is not None

        taken = await asyncio.gather(*(is_taken(path) for path in fresh))
        return [path for path, there in zip(fresh, taken, strict=True) if there]

    async def _read_status(self) -> BundleStatus | None:
        try:
            return await self._opa.bundle_status()
        except OpaRejected:
            # Its status plugin is off: then it reports active bundles, and never rejected ones.
            return BundleStatus(BUNDLE_NAME, await self._opa.bundle_revision() or "")


def _remove_path(found: Any, path: DataPath) -> Any:
    """Remove the value at a path from a document, and return the rest; None if nothing else is in it."""
    if not path:
        return None
    if not isinstance(found, dict) or path[0] not in found:
        return found
    found[path[0]] = _remove_path(found[path[0]], path[1:])
    if found[path[0]] is None:
        del found[path[0]]
    return found or None
