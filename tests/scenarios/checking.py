"""Compare the answers of OPA, of the command line or of a cluster with the expected outcomes of a scenario.

An outcome of `expected.yaml` has `says`, its description, and one of the checks below. Objects and paths may be
shortened there, `<Kind>/<name>#<section>`; a policy has its name (`<Kind>/<name>` where two kinds share one).

- `effective: {target, path, policyKind?, sourceNamespace?, spec?, origins?, policies?, overriddenBy?, incomplete?,
  remarks?, error?}`: what applies there, for requests from a namespace. A scenario with such an outcome expects no
  other effective policy anywhere.
- `unreached: <target>` or `{target, sourceNamespace}`: no effective policy applies there, and no unexpected one
  anywhere.
- `uncounted: {target, policyKind?, links?, policies?}`: what `explain` lists as without effect there, links as
  `{parent, child, reason}`, attachments as `{policy, reason}`.
- `status: {policy, ancestor?, Accepted, Programmed, mentions?, message?, silent?}`: all conditions of a policy, as
  `<status>/<reason>`; what their messages mention, the whole message of Accepted, what no message mentions.
- `status: {policy, none: true}`: no status is written.
- `status: {policy, ancestors: <number>}`: how many entries status.ancestors has; `{policy, ancestor, absent: true}`:
  it has no entry for that ancestor.
- `affected: {object, listener? | parent?, by, type?}`: the policies that an object is marked with: in its
  status.conditions, in those of a `listener` by its name, or of a route's `parent` (some fields of its parentRef).
  `type` is how the name of the condition type ends, if it is not `Affected`.
- `affected: {object, annotations: [names]}`: the annotations that an object is marked with.
- `refused: {policyKind, reason?, mentions?}`: a PolicyKind, by its resource's name, that is not active.
- `tree: {root, nodes}`: the hierarchy below a node, each node as `{children, parameters?}`.
- `problem: {policy, reason, mentions?}` or `{policy, absent: [reasons]}`: a problem that a policy has, or has not. On a
  cluster no policy has one: its API server converts or refuses what is a problem in a folder.
- `request: {…, rule, listener?, backends?, filterBackends?, failure?, filters?, policies?, also?, nearest?,
  warnings?}`: the rule that serves a request (null for none), the status that requests get where all fail, warnings by
  their reasons, the rest as in the input and the answer of the query `request`. Its Gateway is the scenario's only one.
- Outcomes about Constraints are those of `judging.py`.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.scenarios.cases import Case
from tests.scenarios.described_requests import asked, check_request, name_of

CONDITION_TYPES = ("Accepted", "Programmed", "Enforced", "PartiallyEnforced", "Overridden")


@dataclass(slots=True)
class Answers:
    """The query `effective`; by key each policy's status, and the marks of each affected object.

    `explained`: by target the query `explain`; `requests`: by name the outcome of each request.
    `by_source`: `effective` as it is with a sourceNamespace.
    `trees`: by root the query `tree`; `problems`: by policy the query `problems`.
    `shown`: `{conditions, listeners, parents}` of a status, and `annotations`.
    `refused`: by its resource's name the Accepted condition of each PolicyKind that is not active.
    """

    effective: list[dict[str, Any]]
    statuses: dict[str, dict[str, Any]]
    shown: dict[str, dict[str, Any]]
    refused: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_source: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    explained: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    trees: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def for_source(self, namespace: str) -> list[dict[str, Any]]:
        """Return the effective policies for requests from a namespace; without a namespace, those for all requests."""
        return self.by_source[namespace] if namespace else self.effective


def check_requests(case: Case, answers: Answers) -> None:
    """Check that each request reaches the expected rule."""
    for outcome in case.outcomes:
        if "request" in outcome:
            answer = answers.requests[name_of(asked(case, outcome["request"]))]
            check_request(case, f"{case.name}: {outcome['says']}", outcome["request"], answer)


def refusal(conditions: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the condition with the reason why a PolicyKind is not active."""
    return next((c for c in conditions if c["type"] == "Accepted" and c["status"] == "False"), None)


def check(case: Case, answers: Answers) -> None:
    """Check that every outcome is as expected, and that no other effective policy exists."""
    check_requests(case, answers)
    _check_trees(case, answers)
    _check_problems(case, answers)
    expected_paths = []
    for outcome in case.outcomes:
        says = f"{case.name}: {outcome['says']}"
        if "effective" in outcome:
            expected_paths.append(_check_effective(case, says, outcome["effective"], answers))
        if "unreached" in outcome:
            _check_unreached(case, says, outcome["unreached"], answers)
        if "uncounted" in outcome:
            _check_uncounted(case, says, outcome["uncounted"], answers.explained)
        if "status" in outcome:
            _check_status(case, says, outcome["status"], answers)
        if "affected" in outcome:
            _check_affected(case, says, outcome["affected"], answers)
        if "refused" in outcome:
            _check_refused(says, outcome["refused"], answers)
    if any("effective" in outcome or "unreached" in outcome for outcome in case.outcomes):
        for source in ("", *case.sources):
            unexpected = [place for place in _paths(answers, source) if (source, *place) not in expected_paths]
            assert not unexpected, f"{case.name} {source}: unexpected effective policies: {unexpected}"
    unexpected_refusals = answers.refused.keys() - case.refused
    assert not unexpected_refusals, f"{case.name}: {[answers.refused[name] for name in unexpected_refusals]}"


def _check_trees(case: Case, answers: Answers) -> None:
    for outcome in case.outcomes:
        if "tree" in outcome:
            answer = answers.trees[case.key(outcome["tree"]["root"])]["nodes"]
            found = {
                key: {name: node[name] for name in ("children", "parameters") if name in node}
                for key, node in answer.items()
            }
            wanted = {
                case.key(node): {
                    name: [case.key(end) for end in ends] if isinstance(ends, list) else case.key(ends)
                    for name, ends in about.items()
                }
                for node, about in outcome["tree"]["nodes"].items()
            }
            assert found == wanted, f"{case.name}: {outcome['says']}"


def _check_problems(case: Case, answers: Answers) -> None:
    for outcome in case.outcomes:
        if "problem" not in outcome or not answers.problems:
            continue
        expected = outcome["problem"]
        found = {
            problem["reason"]: problem["message"] for problem in answers.problems[case.policies[expected["policy"]]]
        }
        says = f"{case.name}: {outcome['says']}: {found}"
        assert not found.keys() & set(expected.get("absent", [])), says
        if "reason" in expected:
            assert all(text in found[expected["reason"]] for text in expected.get("mentions", [])), says


def _paths(answers: Answers, source: str) -> dict[tuple[str, ...], dict[str, Any]]:
    return {
        (entry["policyKind"], entry["target"], *path["path"]): path
        for entry in answers.for_source(source)
        for path in entry["paths"]
    }


def _check_effective(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> tuple[str, ...]:
    kind = case.kind(expected.get("policyKind", ""))
    place = (kind, case.key(expected["target"]), *map(case.key, expected["path"]))
    source = expected.get("sourceNamespace", "")
    paths = _paths(answers, source)
    assert place in paths, f"{says}: no effective policy there, only at {list(paths)}"
    path = paths[place]
    keys = case.policies
    if "spec" in expected:
        assert path["spec"] == expected["spec"], says
    if "origins" in expected:
        assert path["origins"] == {pointer: keys[name] for pointer, name in expected["origins"].items()}, says
    if "policies" in expected:
        outcomes = {policy["policy"]: policy["outcome"] for policy in path["policies"]}
        assert outcomes == {keys[name]: outcome for name, outcome in expected["policies"].items()}, says
    if "overriddenBy" in expected:
        by = {policy["policy"]: policy["overriddenBy"] for policy in path["policies"]}
        wanted = {keys[name]: [keys[one] for one in names] for name, names in expected["overriddenBy"].items()}
        assert by == wanted, says
    assert path.get("incomplete", []) == expected.get("incomplete", []), says
    if "remarks" in expected:
        assert path.get("remarks", []) == expected["remarks"], says
    if "error" in expected:
        assert path["error"]["code"] == expected["error"], says
    return (source, *place)


def _check_unreached(case: Case, says: str, expected: str | dict[str, Any], answers: Answers) -> None:
    about = {"target": expected} if isinstance(expected, str) else expected
    held = answers.for_source(about.get("sourceNamespace", ""))
    there = [entry for entry in held if entry["target"] == case.key(about["target"])]
    assert not there, f"{says}: {there}"


def _check_uncounted(
    case: Case, says: str, expected: dict[str, Any], explained: dict[str, list[dict[str, Any]]]
) -> None:
    kind, target = case.kind(expected.get("policyKind", "")), case.key(expected["target"])

    entries = [entry for entry in explained[target] if (entry["policyKind"], entry["target"]) == (kind, target)]
    links = [(link["parent"], link["child"], link["reason"]) for entry in entries for link in entry["links"]]
    wanted = [(case.key(link["parent"]), case.key(link["child"]), link["reason"]) for link in expected.get("links", [])]
    assert sorted(links) == sorted(wanted), f"{says}: {entries}"
    attachments = [(other["policy"], other["reason"]) for entry in entries for other in entry["attachments"]]
    lost = [(case.policies[other["policy"]], other["reason"]) for other in expected.get("policies", [])]
    assert sorted(attachments) == sorted(lost), f"{says}: {entries}"


def _check_status(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> None:
    status = answers.statuses.get(case.policies[expected["policy"]], {})
    if expected.get("none"):
        assert not status.get("conditions"), f"{says}: {status}"
        assert not status.get("ancestors"), f"{says}: {status}"
        return
    conditions = status.get("conditions", [])
    if "ancestors" in expected:
        count = len(status.get("ancestors", []))
        assert count == expected["ancestors"], f"{says}: {count} ancestors: {status}"
    if "ancestor" in expected:
        wanted = expected["ancestor"].items()
        entries = [entry for entry in status.get("ancestors", []) if wanted <= entry["ancestorRef"].items()]
        if expected.get("absent"):
            assert not entries, f"{says}: {status}"
            return
        assert len(entries) == 1, f"{says}: {status}"
        conditions = entries[0]["conditions"]
    shown = {condition["type"]: f"{condition['status']}/{condition['reason']}" for condition in conditions}
    wanted_conditions = {name: expected[name] for name in CONDITION_TYPES if name in expected}
    if wanted_conditions or "ancestors" not in expected:
        assert shown == wanted_conditions, f"{says}: {conditions}"
    text = " ".join(condition["message"] for condition in conditions)
    for mention in expected.get("mentions", []):
        assert mention in text, f"{says}: {text}"
    for secret in expected.get("silent", []):
        assert secret not in text, f"{says}: {text}"
    if "message" in expected:
        assert expected["message"] in [c["message"] for c in conditions if c["type"] == "Accepted"], f"{says}: {text}"


def _check_affected(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> None:
    shown = answers.shown.get(case.key(expected["object"]), {})
    if "annotations" in expected:
        marks = {name: value for name, value in shown.get("annotations", {}).items() if name.endswith("Affected")}
        assert marks == dict.fromkeys(expected["annotations"], "true"), f"{says}: {shown}"
        return
    suffix = expected.get("type", "Affected")
    conditions = [one for one in _conditions_at(shown, expected) if one["type"].endswith(suffix)]
    named = sorted(name for one in conditions for name in _named(one["message"]))
    keys = case.policies
    wanted = sorted("/".join(keys[name].split("/")[2:]).removeprefix("-/") for name in expected["by"])
    assert named == wanted, f"{says}: {conditions}"


def _conditions_at(shown: dict[str, Any], expected: dict[str, Any]) -> list[dict[str, Any]]:
    if "listener" in expected:
        places = [one for one in shown.get("listeners", []) if one["name"] == expected["listener"]]
    elif "parent" in expected:
        wanted = expected["parent"].items()
        places = [one for one in shown.get("parents", []) if wanted <= one["parentRef"].items()]
    else:
        places = [shown]
    return [condition for place in places for condition in place.get("conditions", [])]


def _named(message: str) -> list[str]:
    """Return the policies in `Affected by Kind/a/b, Kind/c/d`, as `a/b`."""
    return [part.strip().partition("/")[2] for part in re.sub(r"^.*? by ", "", message).split(",")]


def _check_refused(says: str, expected: dict[str, Any], answers: Answers) -> None:
    condition = answers.refused.get(expected["policyKind"])
    assert condition is not None, f"{says}: it is active"
    # The command line prints messages without reasons.
    assert condition.get("reason") in {None, expected.get("reason", condition.get("reason"))}, f"{says}: {condition}"
    for mention in expected.get("mentions", []):
        assert mention in condition["message"], f"{says}: {condition}"
