"""Evaluation of requests: two decisions of OPA, one response.

The placement decision is the admins' own, for the object; the shipped rules' is `data.bridge.v1.admission`, for the
whole request. The bridge repeats a query while that can help and there is time.
"""

import asyncio
import functools
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec
import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from bridge.admission.admitted import LONGEST, Admitted, Parts
from bridge.admission.review import (
    OURS,
    AdmissionVerdict,
    ReviewError,
    ReviewRequest,
    Terms,
    answer,
    patch_of,
    read_review,
    shortened,
    verdict,
)
from bridge.model.keys import Key
from bridge.model.observability import Histogram, Record, record_nothing
from bridge.model.placement_decision import Decision, DecisionError, differing, read_decision
from bridge.opa.client import Answer
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout, OpaUnavailable
from bridge.work import RETURNING

log = structlog.get_logger(__name__)

OUTCOMES = ("allowed", "denied", "failed-open", "failed-closed", "malformed")


class AdmissionCounts:
    """Requests by outcome (OUTCOMES), and the seconds of responses."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.seconds = Histogram()

    @contextmanager
    def malformed(self) -> Iterator[None]:
        """Count a request that the block cannot read."""
        try:
            yield
        except ReviewError:
            self.outcomes["malformed"] += 1
            raise

    def answered(self, outcome: str, seconds: float) -> None:
        """Count a response."""
        self.outcomes[outcome] += 1
        self.seconds.observe(seconds)


_SHORTEST_ATTEMPT = 1.0  # seconds; a shorter rest is not split
_PASSING = {429, 502, 503, 504}  # back-pressure, and the statuses of a proxy before an unavailable OPA

T = TypeVar("T")


class Undecided(Exception):
    """A decision could not be made. `passing` means that a retry can help; the text is for the client."""

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


class TooCostly(Exception):
    """A query failed, or took too long, at an object that it reads: one that reads less may succeed."""


def is_costly(error: Exception) -> bool:
    """Return whether an error may be due to an object that the query reads."""
    if isinstance(error, OpaRejected):
        return error.in_evaluation
    return isinstance(error, TimeoutError | OpaTimeout)


async def insist(
    ask: Callable[[], Awaitable[T]], budget: float, is_costly: Callable[[Exception], bool] = lambda _: False
) -> T:
    """Return the result of `ask`, which is retried after temporary failures within `budget` seconds.

    An attempt may take half of the remaining time, so a second one can follow. Retry-After counts. Raises Undecided,
    and TooCostly at once after an error that `is_costly`.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + budget
    attempts = 0

    async def attempt() -> T:
        nonlocal attempts
        left = until - clock()
        attempts += 1
        seconds = left / 2 if left > 2 * _SHORTEST_ATTEMPT else left
        try:
            async with asyncio.timeout(seconds):
                return await ask()
        except TimeoutError as error:
            if is_costly(error):
                raise TooCostly from error
            raise _Failed(
                Undecided(f"OPA did not respond in time (attempts: {attempts})", passing=True), 0.0
            ) from error
        except (OpaError, Undecided) as error:
            if is_costly(error):
                raise TooCostly from error
            raise _Failed(*_explained(error)) from error

    return await _retried(attempt, until)


class _Failed(Exception):
    """An attempt failed: `why`, and in how many seconds OPA takes another one."""

    def __init__(self, why: Undecided, after: float) -> None:
        super().__init__(str(why))
        self.why = why
        self.after = after


async def _retried(attempt: Callable[[], Awaitable[T]], until: float) -> T:
    """Return the result of `attempt`, which is repeated after a passing _Failed if it can begin before `until`.

    Raises the Undecided of the last one.
    """
    try:
        return await attempt()
    except _Failed as error:
        failed: _Failed | None = error  # only retries need the machinery, which costs as much as the query
    clock = asyncio.get_running_loop().time

    async def attempt_again() -> T:
        nonlocal failed
        if failed:
            error, failed = failed, None
            raise error
        return await attempt()

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = error.after if isinstance(error, _Failed) else 0.0
        return max(after, RETURNING(state) * random.uniform(0.8, 1.2))  # noqa: S311 (spreads load)

    attempts = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, _Failed) and error.why.passing),
        wait=wait,
        stop=lambda state: clock() + state.upcoming_sleep >= until,
        sleep=asyncio.sleep,
        reraise=True,
    )
    try:
        return await attempts(attempt_again)
    except _Failed as error:
        raise error.why from None


def _explained(error: OpaError | Undecided) -> tuple[Undecided, float]:
    match error:
        case Undecided():
            return error, 0.0
        case OpaRejected(status=401 | 403):
            return Undecided(f"OPA does not accept the bridge's token: {error}"), 0.0
        case OpaRejected():
            return Undecided(str(error), passing=error.status in _PASSING), error.retry_after
        case OpaUnavailable():
            return Undecided(str(error), passing=True), 0.0
        case _:
            return Undecided(str(error)), 0.0


Ask = Callable[[msgspec.Raw], Awaitable[Answer]]
Complete = Callable[[msgspec.Raw, Any, float], Awaitable[Any]]
JudgeModules = Callable[[msgspec.Raw, float], Awaitable[Decision]]
PLACEMENT, RULES = "placement", "rules"  # the names of the two decisions about objects
MODULES = "modules"  # the name of the decision about a change of modules
EVENT_BUDGET = 1.0  # seconds; a client with a shorter timeout gets no Event
_ROUNDS = 3  # judgements of a change of Rego while other changes are admitted
_NO_TURN = "too many requests that guardrails judge: try again"
OPEN_BUDGET = 1.0  # seconds to retry if no policy exists, because the request is admitted anyway


@dataclass(frozen=True, slots=True)
class Steps:
    """A decision in two steps, without what fails on objects of others.

    `judge` returns the input of `ask`, in a number of seconds of which it leaves some to `ask`. It raises
    OpaUnavailable if OPA does not respond.
    """

    judge: Callable[[msgspec.Raw, float], Awaitable[Mapping[str, Any]]]
    ask: Callable[[Mapping[str, Any]], Awaitable[Answer]]


class Policies:
    """What admission must know of the admins' policies, by the decision (`placement`, `rules`) that evaluates them.

    By default policies exist, of which nothing is known, and every answer counts.
    """

    def exist(self, decision: str) -> bool | None:  # noqa: ARG002
        """Return whether policies of a decision exist, None until the initial list is complete."""
        return True

    def may_exist(self, decision: str) -> bool:
        """Return whether policies of a decision exist, or may: then a failure denies."""
        return self.exist(decision) is not False

    def exist_of_any(self, decisions: Collection[str]) -> bool | None:
        """Return whether policies of any of these decisions exist, None while that is unknown."""
        found = [self.exist(decision) for decision in decisions]
        return True if True in found else None if None in found else False

    def deciding(self, decision: str) -> Collection[Key]:  # noqa: ARG002
        """Return the objects with policies of a decision."""
        return ()

    def distrust(self, answer: Answer) -> str:  # noqa: ARG002
        """Return why an answer of OPA is ignored, empty if it is not."""
        return ""

    def is_recent(self, answer: Answer) -> bool:  # noqa: ARG002
        """Return whether a distrusted answer is from modules that were replaced a moment ago.

        A decision of them counts, because no later one might ever come while modules or data change without a pause.
        """
        return False

    def kinds(self) -> Collection[str]:
        """Return the active policy kinds, none until they are known."""
        return ()

    async def dependents(self, author: Key) -> Sequence[str] | None:  # noqa: ARG002
        """Return the objects whose modules do not compile without those of another one, each with the reason.

        None for an object without modules in OPA.
        """
        return None


@dataclass(frozen=True, slots=True)
class Question:
    """A decision to query: `ask` queries OPA with an input. `name` is its name in messages.

    `policies` decide whether a failure denies and, unless the OPA is another one than they are for (`is_own`), which
    answers count. `undefined` is the meaning of an undefined document: an empty decision (None), or a message. `read`
    makes a Decision of OPA's result, or raises DecisionError.
    With `asks_with_review` the input is the whole AdmissionReview, of every request, otherwise the object.
    `steps` replace `ask` after a failed evaluation or a timeout.
    `complete` makes the whole result of one that leaves a part to further queries, in a number of seconds.
    """

    name: str
    ask: Ask
    policies: Policies = field(default_factory=Policies)
    undefined: Callable[[], str | None] = lambda: None
    read: Callable[[Any], Decision] = read_decision
    steps: Steps | None = None
    complete: Complete | None = None
    is_own: bool = True
    asks_with_review: bool = False

    def why_ignored(self, answer: Answer) -> str:
        """Return why an answer is ignored, empty if it counts."""
        why = self.policies.distrust(answer) if self.is_own else ""
        return "" if why and self.policies.is_recent(answer) and not _response(self, answer).failure else why


def read_rules(result: Any) -> Decision:
    """Read the result of the shipped rules, `{denied, warnings}`. Raises DecisionError for anything else."""
    match result:
        case {"denied": denied, "warnings": warnings}:
            return read_decision({"errors": denied, "warnings": warnings})
        case {"error": {"message": message}}:
            raise DecisionError(str(message))
    raise DecisionError("the decision has neither `denied` nor `warnings`")


@dataclass(slots=True)
class _Response:
    """The result of one query. `change` is the request's, if later requests are judged with it."""

    decision: Decision | None = None
    decision_id: str = ""
    revision: str = ""
    failure: str = ""
    change: Parts | None = None

    @property
    def is_allowed(self) -> bool:
        """Return whether the decision could be made, and denies nothing."""
        return not self.failure and self.decision is not None and not self.decision.errors


@dataclass(frozen=True, slots=True)
class Admission:
    """Evaluates AdmissionReviews.

    `placement` gets the object (None: no such decision is configured), `rules` the AdmissionRequest.
    `record` makes an Event of a failure. `policies` are those of the bridge's OPA. `counted` counts. `judge_modules`
    returns the decision of guardrails about a request that changes modules, in a number of seconds. ConfigMaps of
    `policy_namespaces` (`*` is any) have modules.
    `concerned` returns whether the rules may find something about a request; they are queried for no other one.
    `admitted` has the changes that OPA may not have yet.
    """

    placement: Question | None
    rules: Question
    record: Record = record_nothing
    policies: Policies = field(default_factory=Policies)
    counted: AdmissionCounts = field(default_factory=AdmissionCounts)
    judge_modules: JudgeModules | None = None
    policy_namespaces: Collection[str] = ()
    concerned: Callable[[ReviewRequest], bool] = lambda _: True
    admitted: Admitted = field(default_factory=Admitted)

    async def review(self, body: bytes, terms: Terms) -> bytes:
        """Answer an AdmissionReview. Raises ReviewError for an invalid one.

        An unverified client may have invented the object, and a tiny budget makes any decision fail: neither causes an
        Event.
        """
        began = time.perf_counter()
        with self.counted.malformed():
            request = read_review(body)
        tells = terms.verified and terms.budget >= EVENT_BUDGET and not request.dry_run
        responses = await self._query(request, terms.budget, is_last=not terms.patches)
        failures = tuple(f"{name}: {one.failure}" for name, one in responses.items() if one.failure)
        made = [one.decision for one in responses.values() if one.decision is not None]
        failing = [name for name, one in responses.items() if one.failure]
        open_because = self._open_because(request, [] if request.flaw else failing) if failures else ""
        judged = verdict(made, failures, open_because, "" if request.patched else request.what)
        audit = _audit(judged, responses, failures)
        if failures and tells:
            self._tell(request, judged, open_because, failures)
        took = time.perf_counter() - began
        self.counted.answered(judged.outcome, took)
        patch = (
            patch_of(request, differing(request.annotations, judged.annotations), judged.patches)
            if request.patched and terms.patches
            else []
        )
        about = {
            "webhook": "mutating" if terms.patches else "validating",
            "object": shortened(request.key),
            "operation": shortened(request.operation),
            "uid": request.uid,
            "dry_run": request.dry_run,
        }
        write = log.warning if failures else log.info
        ms = round(took * 1e3, 1)
        noted = {key.replace("-", "_"): value for key, value in audit.items()}
        write("admission request reviewed", **about, **noted, ms=ms)
        return answer(request.uid, patch=patch, denied=judged.denied, warnings=judged.warnings, audit=audit)

    async def _query(self, request: ReviewRequest, budget: float, *, is_last: bool) -> dict[str, _Response]:
        rules = self.rules
        placement = self.placement
        if request.flaw:
            return {rules.name: _Response(failure=request.flaw)}
        changed = await self._review_modules(request, budget)
        if changed is not None:  # nothing else may keep users from changing a policy
            return {MODULES: changed}
        asked: dict[str, Awaitable[_Response]] = {}
        if placement is not None and self._is_placed(placement, request):
            given = request.review if placement.asks_with_review else request.subject
            asked[placement.name] = _query_one(placement, given, *self._time_for(placement, request, budget))
        if self.concerned(request):
            patience, left = self._time_for(rules, request, budget)
            asked[rules.name] = self._query_rules(request, patience, left, is_last=is_last)
        if len(asked) > 1:
            return dict(zip(asked, await asyncio.gather(*asked.values()), strict=True))
        return {name: await answer for name, answer in asked.items()}

    async def _query_rules(self, request: ReviewRequest, patience: float, budget: float, *, is_last: bool) -> _Response:
        """Return the decision of the rules; at the last webhook also after the changes that were admitted before."""
        clock = asyncio.get_running_loop().time
        began = clock()
        until = began + budget
        response = await _query_one(self.rules, request.request, patience, budget)
        if not (is_last and response.change and response.is_allowed):
            return response
        key = request.parsed_key
        try:
            async with asyncio.timeout_at(until):
                await self.admitted.turn.acquire()
        except TimeoutError:
            response.failure = _NO_TURN
            return response
        try:
            if response.decision and (lacking := self.admitted.modules()):
                text = f"judged without Rego that was admitted less than {LONGEST:.0f} s ago: {', '.join(lacking)}"
                warnings = (*response.decision.warnings, text)
                response.decision = replace(response.decision, warnings=warnings)
            if others := self.admitted.missing(began, key):
                left = until - clock()
                after = await _query_one(self.rules, request.request_after(others), min(patience, left), left)
                if not after.is_allowed:
                    return after
            if not request.dry_run:
                self.admitted.add(key, response.change)
        finally:
            self.admitted.turn.release()
        return response

    async def _review_modules(self, request: ReviewRequest, budget: float) -> _Response | None:
        """Return the decision about a change of modules; None for another request."""
        began = asyncio.get_running_loop().time()
        until = began + budget
        removal = None
        if request.removes_modules:
            removal = await _check_removal(self.policies.dependents(request.parsed_key), budget)
        writes = request.writes_modules(self.policy_namespaces)
        if writes and request.keeps_modules:
            return _Response(Decision())
        decision = removal.decision if removal else None
        if not self.judge_modules or not (writes or removal) or (decision and decision.errors):
            return removal
        warnings = decision.warnings if decision else ()
        judged = await self._judge_modules(self.judge_modules, request, began, until)
        return _Response(Decision(errors=judged.errors, warnings=(*warnings, *judged.warnings)))

    async def _judge_modules(self, judge: JudgeModules, request: ReviewRequest, began: float, until: float) -> Decision:
        """Return the decision about a change of modules, judged also after the changes that were admitted meanwhile."""
        key = request.parsed_key

        async def decide(others: Parts) -> Decision:
            left = until - asyncio.get_running_loop().time()
            return await judge(request.request_after(others) if others else request.request, left)

        try:
            async with asyncio.timeout_at(until):
                now = self.admitted.missing(began, key, with_modules=True)
                for _ in range(_ROUNDS):
                    before = now
                    judged = await decide(before)
                    if judged.errors or request.dry_run:
                        return judged
                    # Nothing is judged in the turn, because a comparison of Rego takes seconds.
                    async with self.admitted.turn:
                        now = self.admitted.missing(began, key, with_modules=True)
                        if now == before:
                            self.admitted.add_modules(key, request.change)
                            return judged
            self.admitted.add_modules(key, request.change)
            return Decision(warnings=(*judged.warnings, "judged without changes that were admitted meanwhile"))
        except (TimeoutError, OpaError) as error:
            if not request.dry_run:
                self.admitted.add_modules(key, request.change)
            return Decision(warnings=(f"it is unknown whether guardrails allow this change: {error}",))

    def _is_placed(self, placement: Question, request: ReviewRequest) -> bool:
        """Return whether the placement decision counts for a request, besides the rules."""
        if request.group == OURS:
            return False
        if placement.asks_with_review:
            return True
        beside = request.is_beside_object or request.deletes_of_the_hierarchy(self.policies.kinds())
        return request.subject_given and not beside

    def _time_for(self, question: Question, request: ReviewRequest, budget: float) -> tuple[float, float]:
        """Return the seconds in which failures are retried, and all of the decision's."""
        patience = min(budget, OPEN_BUDGET) if self._open_because(request, [question.name]) else budget
        # What changes policies is admitted without a decision, but guardrails judge it.
        return patience, budget if request.group == OURS else patience

    def _open_because(self, request: ReviewRequest, failing: Collection[str]) -> str:
        """Return why a request is admitted without these decisions (none: without any), "" if it is denied."""
        if request.group == OURS:
            return "because the request can repair policies"
        questions = [one for one in (self.placement, self.rules) if one and (not failing or one.name in failing)]
        return "" if any(one.policies.may_exist(one.name) for one in questions) else "because no policy exists"

    def _tell(
        self, request: ReviewRequest, judged: AdmissionVerdict, open_because: str, failures: tuple[str, ...]
    ) -> None:
        done = "was denied" if judged.denied else f"was admitted without a decision, {open_because}"
        text = f"{request.operation} {done}: {'; '.join(failures)}"
        self.record(request.reference, "Warning", "AdmissionUndecided", text)


async def _check_removal(dependents: Awaitable[Sequence[str] | None], budget: float) -> _Response | None:
    """Return the denial of a deletion that takes out the rules of others; None if the object has no modules.

    One whose check has not ended is denied too: the check goes on, and answers the next attempt.
    """
    try:
        async with asyncio.timeout(budget):
            found = await dependents
    except TimeoutError:
        text = "whether other policies need these modules is still being checked: try again"
        return _Response(Decision(errors=(text,)))
    except OpaError as error:
        return _Response(Decision(warnings=(f"it is unknown whether other policies need this one: {error}",)))
    if not found:
        return None if found is None else _Response(Decision())
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    text = f"other policies need these modules: {found[0]}{more}; delete or change them first"
    return _Response(Decision(errors=(text,)))


async def _query_one(question: Question, request: msgspec.Raw, patience: float, budget: float) -> _Response:
    """Return the decision within `budget` seconds; failures are retried for `patience` seconds."""
    response = _Response()
    steps = question.steps

    async def once(ask: Awaitable[Answer]) -> Answer:
        got = await ask
        response.decision_id, response.revision = got.decision_id, got.revision
        if why := question.why_ignored(got):
            raise Undecided(why, passing=True)
        return got

    clock = asyncio.get_running_loop().time
    until = clock() + budget
    try:
        try:
            got = await insist(lambda: once(question.ask(request)), patience, is_costly if steps else lambda _: False)
        except TooCostly:
            assert steps is not None  # noqa: S101 - otherwise nothing is too costly
            ask = functools.partial(steps.ask, await _judge(steps, request, until))
            got = await insist(lambda: once(ask()), until - clock())
        if question.complete:
            got = await _complete(question.complete, request, got, until)
        return _response(question, got)
    except Undecided as error:
        response.failure = str(error)
        return response


async def _judge(steps: Steps, request: msgspec.Raw, until: float) -> Mapping[str, Any]:
    """Return the result of the first step, which is repeated while OPA is unavailable. Raises Undecided."""

    async def attempt() -> Mapping[str, Any]:
        try:
            return await steps.judge(request, until - asyncio.get_running_loop().time())
        except OpaError as error:
            raise _Failed(*_explained(error)) from error

    return await _retried(attempt, until)


async def _complete(complete: Complete, request: msgspec.Raw, got: Answer, until: float) -> Answer:
    try:
        async with asyncio.timeout_at(until):
            left = until - asyncio.get_running_loop().time()
            return msgspec.structs.replace(got, result=await complete(request, got.result, left))
    except OpaError as error:
        raise _explained(error)[0] from error
    except TimeoutError as error:
        raise Undecided("OPA did not respond in time") from error


def _response(question: Question, got: Answer) -> _Response:
    response = _Response(decision_id=got.decision_id, revision=got.revision)
    if isinstance(got.result, dict):
        response.change = got.result.get("change")
    try:
        response.decision = _read(question, got.result)
    except (Undecided, DecisionError) as error:
        response.failure = str(error)
    return response


def _read(question: Question, result: Any) -> Decision:
    if result is msgspec.UNSET:
        why = question.undefined()
        if why is not None:
            raise Undecided(why)
        return Decision()
    return question.read(result)


def _audit(judged: AdmissionVerdict, responses: Mapping[str, _Response], failures: tuple[str, ...]) -> dict[str, str]:
    """Return the annotations of the API server's audit event, which adds the webhook's name to each key."""
    audit = {"outcome": judged.outcome}
    for name, one in responses.items():
        if one.decision_id:
            audit[f"{name}-decision-id"] = one.decision_id
        if one.revision:
            audit["revision"] = one.revision
    if failures:
        audit["failure"] = "; ".join(failures)[:1024]
    return audit
