"""One bundle of the shipped modules and a set of submissions, with the modules that the bridge generates for the set.

Rego cannot refer to a package whose name is data, so the bridge generates modules that do: for policies of Constraints,
strategies and hierarchies of admins, and the `kubernetes` view. The shipped guardrails are added to a set only where a
Constraint or an admin's guardrail uses them.
"""

import copy
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import structlog

from bridge.model.keys import CORE
from bridge.opa.bundle import Bundle, build_bundle
from bridge.opa.shipped import SETTINGS, Shipped, shipped_guardrails
from bridge.policy_loader.read_parameters import read_parameters
from bridge.policy_loader.submissions import (
    GUARDRAILS,
    HIERARCHY,
    MOST_PARTS,
    STRATEGIES,
    DataPath,
    Parts,
    Places,
    Submission,
    package_of,
    roots,
)

log = structlog.get_logger(__name__)

DISPATCH_FILE = "bridge/constraints/dispatch.rego"  # its path in the bundle
FUNCTIONS_FILE = "bridge/constraints/by_target_functions.rego"
Package = tuple[str, ...]  # from the root of OPA's data
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A rule's head is at the beginning of its line. A function with that name is not a policy.
_VIOLATION = re.compile(r"^[ \t]*(?:default[ \t]+)?violation\b(?![ \t]*\()", re.MULTILINE)
_VIOLATIONS = re.compile(_VIOLATION.pattern.replace("violation", "violations"), re.MULTILINE)
_BY_TARGET = re.compile(r"^[ \t]*(?:default[ \t]+)?violations_at\(", re.MULTILINE)


_JUDGED = """{reported |
	some target in input.targets
	answer := %s
	some found in data.bridge.effective_targets.listed(answer)
	reported := data.bridge.effective_targets.reported(target, found)
}"""
_BY_RULE = "data.%s.violations with input as object.union(input, target)"
_BY_FUNCTION = "data.%s.violations_at(target, input.parameters, input.targets)"


_FOUND = """names contains %s

found(%s, parameters, targets) := {[reported.msg, reported.details] |
	some target in targets
	some one in %s
	reported := data.bridge.effective_targets.reported(target, one)
}"""


def _is_guardrail(package: Package) -> bool:
    return package[:2] == GUARDRAILS and len(package) == len(GUARDRAILS) + 1


def dispatcher(modules: Iterable[tuple[Package, str]]) -> str:
    """Return the module `bridge.constraints.dispatch` for the packages of these modules that have rules `violation`.

    `modules` are admins', each with its package. A Constraint names a policy in the form of the package declaration
    (`k8s.limits`, `acme["memory-limits"]`). Rego cannot refer to a package whose name is data, but it can look up a
    rule's key. Guardrails, the packages below `bridge.guardrails`, judge each effective target at an object, and have
    a rule `violations`; those that only have a function `violations_at` are in `functions_by_target` instead.
    """
    modules = list(modules)
    functions = _guardrails(modules, _BY_TARGET)
    answers = {
        _name(package): f"data.{_name(package)}.violation" for package, text in modules if _is_policy(package, text)
    }
    for name in _guardrails(modules, _VIOLATIONS):
        kinds = [_BY_RULE, _BY_FUNCTION] if name in functions else [_BY_RULE]
        answers[name] = " | ".join(_JUDGED % (kind % name) for kind in kinds)
    names = sorted(answers.keys() | functions)
    listed = ", ".join(map(json.dumps, names))
    rules = [f"violations[{json.dumps(name)}] := {answers[name]}" for name in sorted(answers)]
    policies = f"policies := {{{listed}}}" if names else "policies := set()"
    return "\n\n".join(["package bridge.constraints.dispatch", policies, *rules]) + "\n"


def functions_by_target(modules: Iterable[tuple[Package, str]], own: Iterable[Package] = ()) -> str:
    """Return the module `bridge.constraints.by_target` for those of these modules that are functions; "" if empty.

    `own` are packages of admins: the parameters of a shipped guardrail that one of them replaces are the admin's.
    """
    modules = list(modules)
    owned = {_name(package) for package in own}
    guardrails = [package for package in sorted(own) if _is_guardrail(package)]
    rules = [f"own contains {json.dumps(_name(package))}" for package in guardrails]
    below: dict[Package, list[tuple[Package, str]]] = {}
    for package, text in modules:
        below.setdefault(package[: len(GUARDRAILS) + 1], []).append((package, text))
    rules += [rule for package in guardrails for rule in _write_parameters(package, below.get(package, []))]
    for name in sorted(_guardrails(modules, _BY_TARGET) - _guardrails(modules, _VIOLATIONS)):
        answer = f"data.{name}.violations_at(target, parameters, targets)"
        if name in owned:  # shipped ones are sets
            answer = f"data.bridge.effective_targets.listed({answer})"
        rules.append(_FOUND % (json.dumps(name), json.dumps(name), answer))
    return "\n\n".join(["package bridge.constraints.by_target", *rules]) + "\n" if rules else ""


def _write_parameters(package: Package, modules: Iterable[tuple[Package, str]]) -> list[str]:
    """Return the rule with the schema of a guardrail's parameters, or with the names of all that its Rego reads."""
    found = read_parameters(package, modules)
    name = json.dumps(_name(package))
    if found.schemas:
        return [f"parameter_schemas[{name}] := {found.schemas[0] or 'null'}"]
    if found.names is None:
        return []
    listed = ", ".join(map(json.dumps, sorted(found.names)))
    return [f"mentions[{name}] := {f'{{{listed}}}' if listed else 'set()'}"]


def _guardrails(modules: Iterable[tuple[Package, str]], head: re.Pattern[str]) -> set[str]:
    return {_name(package) for package, text in modules if _is_guardrail(package) and head.search(text)}


def _is_policy(package: Package, text: str) -> bool:
    return not _is_guardrail(package) and _VIOLATION.search(text) is not None


def _name(package: Package) -> str:
    first, *others = package
    return first + "".join(f".{part}" if _PLAIN.fullmatch(part) else f"[{json.dumps(part)}]" for part in others)


def generated(
    submissions: Sequence[Submission],
    kubernetes: str = "",
    guardrails: Collection[str] = (),
    lost: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the modules for a set, by their paths in the bundle.

    The `kubernetes` view is included if its text is given, a shipped guardrail if it is among `guardrails`, which
    Constraints name. `lost` are the modules in place of lost ones (`failing_rules`).
    """
    found = [
        (package, submission.modules[name])
        for submission in submissions
        for name, package in submission.packages.items()
    ]
    found += [(package_of(text) or (), text) for text in (lost or {}).values()]
    owned = {package for package, _ in found}
    shipped = shipped_guardrails(guardrails) if guardrails else {}
    shipped = {path: text for path, text in shipped.items() if package_of(text) not in owned}
    found += [(package_of(text) or (), text) for text in shipped.values()]
    made = {DISPATCH_FILE: dispatcher(found)}
    if functions := functions_by_target(found, owned):
        made[FUNCTIONS_FILE] = functions
    made |= shipped
    if kubernetes:
        made[VIEW_FILE] = kubernetes
    return made | dict(lost or {})


class Head(Protocol):
    """The head of a rule, see `compile_check.RuleHead`."""

    @property
    def ref(self) -> tuple[tuple[str, Any], ...]: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def arity(self) -> int: ...  # noqa: D102


def failing_rules(package: Package, heads: Iterable[Head]) -> str:
    """Return a module in which each of these rules fails when it is evaluated.

    Without a rule that was active, whatever else defines its name would decide alone: a denial would be missing.
    """
    rules = sorted({_write_failing(head.ref, head.kind, head.arity) for head in heads})
    return "\n\n".join([f"package {_name(package)}", *_FAILING, *rules]) + "\n"


# OPA has no other way to fail than a contradiction.
_FAILING = ("policy_bridge_lost(_) := 1", "policy_bridge_lost(x) := 2 if x")


def _write_failing(ref: tuple[tuple[str, Any], ...], kind: str, arity: int) -> str:
    name, variables = str(ref[0][1]), 0
    for term, value in ref[1:]:
        if term == "string":
            name += f"[{json.dumps(value)}]"
        else:
            name += f"[k{variables}]"
            variables += 1
    body = ["x := policy_bridge_lost(true)", *(f"k{number} := x" for number in range(variables))]
    arguments = ", ".join(f"a{number}" for number in range(arity))
    head = {"set": f"{name} contains x", "value": f"{name} := x", "function": f"{name}({arguments}) := x"}[kind]
    return "\n\t".join([f"{head} if {{", *body]) + "\n}"


_ELSEWHERE = re.compile(r"\bdata\b(?!\.bridge\.(?:lib|lookup|hierarchy|extensions\.hierarchy)\b)")


def assemble(
    shipped: Shipped, submissions: Sequence[Submission], generated: Mapping[str, str], *, replicated: bool = False
) -> Bundle:
    """Return the bundle, whose roots are exactly its packages and documents.

    `generated` are the bridge's further modules. With `replicated` a bridge writes objects to the OPA that gets it.
    """
    places = Places(submissions)
    modules = {**shipped.modules, **generated, **places.modules}
    data = document(shipped, submissions)
    if replicated and SETTINGS in data:
        data[SETTINGS]["replicated"] = True
    owned: set[DataPath] = {tuple(root.split("/")) for root in shipped.roots}
    owned.update(package for text in generated.values() if (package := package_of(text)))
    for submission in submissions:
        owned.update(submission.packages.values(), submission.data)
    return build_bundle(modules, data, {"/".join(root) for root in roots(owned)}, places.old)


def document(shipped: Shipped, submissions: Iterable[Submission]) -> dict[str, Any]:
    """Return the base documents of a bundle."""
    data: dict[str, Any] = copy.deepcopy(dict(shipped.data))
    for submission in submissions:
        for path, value in submission.data.items():
            node = data
            for name in path[:-1]:
                node = node.setdefault(name, {})
            node[path[-1]] = value
    return data


def _modules_below(points: Collection[DataPath], submissions: Sequence[Submission]) -> list[tuple[Submission, str]]:
    """Return the modules below these extension points, each with its submission."""
    return [
        (submission, submission.modules[name])
        for submission in submissions
        for name, package in submission.packages.items()
        if any(package[: len(point)] == point for point in points)
    ]


def digest(submissions: Sequence[Submission], point: DataPath) -> str:
    """Return a digest of all that modules below an extension point can read of other submissions; "" without any.

    A module that reads `data` beyond the point and the bridge's own packages may read everything.
    """
    inside = [text for _, text in _modules_below((point,), submissions)]
    if not inside:
        return ""
    seen: list[Any] = inside
    if any(_ELSEWHERE.search(text) for text in inside):
        seen = [[dict(one.modules), sorted(one.data.items())] for one in submissions]
    return hashlib.sha256(msgspec.json.encode(seen, order="deterministic")).hexdigest()[:16]


def submissions_behind(points: Collection[DataPath], submissions: Sequence[Submission]) -> Sequence[Submission]:
    """Return the submissions on which results may depend that come from modules below these extension points.

    These are the authors of such modules; all, where such a module reads `data` beyond the bridge's own packages.
    """
    found = _modules_below(points, submissions)
    if any(_BEYOND.search(text) for _, text in found):
        return submissions
    return [one for one in submissions if any(one is submission for submission, _ in found)]


MERGING = (HIERARCHY, STRATEGIES)  # points on which effective policies depend
JUDGING = (*MERGING, GUARDRAILS)  # those on which the results of guardrails depend
_BEYOND = re.compile(r"""(?<![\w."])data\b(?!\.bridge\.)""")
_MENTION = re.compile(r"""(?<![\w."])data\b((?:\.\w+|\["[^"\\\n]*"\])*)""")  # an escape may be any name
_SEGMENT = re.compile(r"""\.(\w+)|\["([^"]*)"\]""")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_PURE = ("bridge", "lib")  # packages that read no objects


def mentions(submission: Submission) -> set[DataPath]:
    """Return the parts of `data` that modules name, as far as the names are written out."""
    return {path[:MOST_PARTS] for text in submission.modules.values() for path in paths_named(text)}


def paths_named(text: str) -> set[DataPath]:
    """Return the parts of `data` that Rego names."""
    mentioned = {found[1] for found in _MENTION.finditer(text)}
    return {tuple(part[1] or part[2] for part in _SEGMENT.finditer(mention)) for mention in mentioned}


def reads_objects(submissions: Collection[Submission]) -> bool:
    """Return whether a module may read objects that are not in its input: it names parts of `data` not of its set.

    Then an object may matter anywhere, whatever its links are.
    """
    own = Parts((path, path) for one in submissions for path in (*one.claimed, *one.data, _PURE))
    texts = (text for submission in submissions for text in submission.modules.values())
    return not all(own.contains(path) for text in texts for path in paths_named(_COMMENT.sub("", text)))


VIEW_FILE = "kubernetes.rego"  # the path of the view in the bundle
_NAME = re.compile(r"[a-z][a-z0-9]*")  # possible names of rules, in the form of kube-mgmt's users
_RESERVED = {
    *("as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input"),
    *("not", "null", "package", "some", "true", "with"),
}


def kubernetes_view(types: Iterable[str], plural_of: Callable[[str], str]) -> str:
    """Return a module with one rule for each type: `data.kubernetes.<plural>[namespace][name]`, or only `[name]`.

    Of two types (`<group>/<Kind>`) with one plural name the core group's comes first, then Kubernetes' own groups, then
    the others by name; `data.objects` has the other ones.
    """
    chosen: dict[str, str] = {}
    for type_id in sorted(types, key=_rank):
        plural = plural_of(type_id)
        if _NAME.fullmatch(plural) and plural not in _RESERVED:
            chosen.setdefault(plural, type_id)
    rules = [_write_rule(plural, *type_id.split("/")) for plural, type_id in sorted(chosen.items())]
    return "\n\n".join(["package kubernetes", *(_INCOMPLETE if rules else ()), *rules]) + "\n"


# OPA has no other way to fail than a contradiction.
_INCOMPLETE = ("policy_bridge_lacks_objects(_) := 1", "policy_bridge_lacks_objects(x) := 2 if x")


# A reference to the view, but not to a package of an author below it: `data.kubernetes.admission`.
_READS_VIEW = re.compile(r"\bdata\s*(?:\.\s*kubernetes\b|\[\s*[\"`]kubernetes[\"`]\s*\])(?:\s*\.\s*(\w+))?")


def types_of_view(view: str) -> set[str]:
    """Return the plural names of the types in the text of a view."""
    return set(re.findall(r"^(\w+) :=", view, re.MULTILINE))


def lines_that_read_view(submission: Submission, view: str) -> dict[str, int]:
    """Return the modules of a submission that read the view with this text, each with the first such line."""
    types = types_of_view(view)
    found: dict[str, int] = {}
    for name, text in submission.modules.items():
        read = (one.start() for one in _READS_VIEW.finditer(text) if one[1] is None or one[1] in types)
        if (first := next(read, None)) is not None:
            found[name] = text.count("\n", 0, first) + 1
    return found


def _write_rule(plural: str, group: str, kind: str) -> str:
    # A whole document: a lookup of one object costs as little as by its path, and iteration costs no more.
    objects = f"data.objects[{json.dumps(group)}][{json.dumps(kind)}]"
    # Before OPA has every object, it fails: a rule that denies because of an object must not allow without it.
    # Without objects it is empty, as in kube-mgmt: rules over an undefined document would be switched off.
    return (
        f"{plural} := policy_bridge_lacks_objects(true) if {{\n\tdata.bridge_settings.replicated\n"
        f'\tnot data.bridge_state.complete\n}} else := {objects}["-"] if {{\n\t{objects}["-"]\n}} '
        f"else := {objects} if {{\n\t{objects}\n}} else := {{}}"
    )


def _rank(type_id: str) -> tuple[int, str]:
    group = type_id.partition("/")[0]
    own = "." not in group or group.endswith(".k8s.io")
    return (0 if group == CORE else 1 if own else 2, type_id)
