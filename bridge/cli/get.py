"""`pbctl get`: lists of policies, policy kinds, targets, policy authors' Rego, and objects of a kind."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import option
from bridge.cli.notation import MARKS, kind_text, name_of, namespace_cell, path_text
from bridge.cli.options import ONLY_KIND, SELECTOR, completing, kind_option, namespace_options
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Table
from bridge.model.keys import CLUSTER, CORE, parse_key
from bridge.model.nesting import as_mapping
from bridge.model.text import TIE
from bridge.queries.names import (
    CommandError,
    NameNotFoundError,
    either,
    exemption_text,
    identity,
    object_name,
    reference_text,
    short_key,
)

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.opa.client import Opa
    from bridge.queries.asking import Entry, Selects

# That the command sends.
QUERIES = (
    "affected",
    "coverable",
    "effective",
    "kinds_in_force",
    "marked_objects",
    "outcomes",
    "picture",
    "policies",
    "policykinds",
    "scopes",
    "status",
    "tree",
    "uncovered",
)

LAYERS = {"Preset": "preset", "CustomResourceDefinition": "discovered", "PolicyKind": "PolicyKind"}

# Lists that are not kinds; in the plural, in the singular and short, as in kubectl.
LIST_OF = {
    **dict.fromkeys(("policies", "policy", "pol"), "policies"),
    **dict.fromkeys(("policykinds", "policykind", "pk"), "policykinds"),
    **dict.fromkeys(("targets", "target"), "targets"),
    **dict.fromkeys(("modules", "module"), "modules"),
}
_TITLES = {"policykinds": "policy kinds", "modules": "modules of admins"}


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the names of lists, then kinds and objects."""
    lists = [name for name in LIST_OF if name.startswith(incomplete)]
    return sorted(lists) if lists and not ctx.params.get("words") else completing("objects")(ctx, param, incomplete)


def _check(asked: Asked) -> Sequence[str]:
    if not asked.words:
        raise CommandError("missing list: give policies, policykinds, targets, modules or a kind such as routes")
    if asked.more["without"] and (LIST_OF.get(asked.words[0].lower()) != "targets" or asked.kind):
        raise CommandError("--without KIND lists targets: pbctl get targets --without KIND")
    return ()


@read_command(
    "List policies, routes, Gateways, modules and more",
    click.Argument(["words"], metavar="WHAT [NAME]...", nargs=-1, shell_complete=_complete),
    kind_option(ONLY_KIND),
    *namespace_options("Only objects in this namespace."),
    SELECTOR,
    option(
        "--without",
        metavar="KIND[.spec.FIELD]",
        shell_complete=completing("kinds"),
        help="Only list targets that have at least one path without this policy kind (or field).",
    ),
    option("--sort-by", metavar="PATH", help="Sort by this field of -o json, such as .metadata.creationTimestamp."),
    option("--no-headers", is_flag=True, help="Print tables without their header."),
    option("--all", "everything", is_flag=True, help="With policykinds: also list shipped ones that the source lacks."),
    check=_check,
    queries=QUERIES,
)
async def get(engine: Engine, asked: Asked) -> Answer:
    """List policies, policykinds, targets (effective targets that have a policy), modules, or objects of a kind.

    Write kinds as for kubectl: gateways, gtw, httproutes, svc, routes (all kinds of routes), KIND NAME or KIND/NAME;
    several with commas: gateways,routes.
    PATHS is the number of paths on which a policy has an effect, and of all its paths.

    Examples:
        # All policies and their outcomes
        pbctl get policies --manifests examples/shop
        # The names of a namespace's policies with a label
        pbctl get policies -n shop -l team=web -o name
        # Gateways, routes or Services with their policies
        pbctl get routes -n shop --manifests examples/shop
        # Policy kinds and their sources
        pbctl get policykinds
        # The targets of one policy kind
        pbctl get targets --kind ColorPolicy
        # Targets that requests can reach without a JWT policy
        pbctl get targets --without securitypolicy.spec.jwt
        # Admins' Rego and whether OPA has it
        pbctl get modules
    """
    without = asked.more["without"]
    lists = []
    if without:
        entries = await uncovered_targets(engine.opa, without, asked.namespace, asked.selects)
        lists.append(
            ListedObjects("uncovered", await _at_targets(engine.opa, entries, asked.words[1:], asked.namespace))
        )
    for word in () if without else asked.words[0].split(","):
        words = (word, *asked.words[1:])
        lists.append(await listing(engine, words, asked.kind, asked.namespace, asked.selects, every=asked.everything))
    for one in lists:
        _sort(one.entries, asked.more["sort_by"])
    return Answer(
        lambda: [_LISTS[one.form].table(one.entries, asked.wide) for one in lists],
        f"No targets without {without} found." if without else nothing_to_list(asked.words),
        [entry for one in lists for entry in one.entries],
        names=lambda: [name for one in lists for name in _names(one)],
        namespaced=not any(one.form in _TITLES for one in lists),
        headers=not asked.more["no_headers"],
    )


def _sort(entries: list[Entry], path: str | None) -> None:
    """Sort entries by the value at a path of kubectl's, `.metadata.name`; those without it come first."""
    if path is None:
        return
    from bridge.cli.templates import sort_key

    entries.sort(key=sort_key(path))


def nothing_to_list(words: Sequence[str]) -> str:
    """Return the message for an empty list, as in kubectl."""
    names = [word.partition("/")[0] for word in words[0].split(",")]
    forms = [LIST_OF.get(name.lower(), name) for name in names]
    return f"No {either([_TITLES.get(form, form) for form in forms])} found."


@dataclass(frozen=True, slots=True)
class ListedObjects:
    """The result of `pbctl get`: entries of one `form`, a key of `_LISTS`."""

    form: str
    entries: list[Entry]


async def listing(
    engine: Engine,
    words: Sequence[str],
    kind: str | None,
    namespace: str | None,
    selects: Selects | None,
    *,
    every: bool = False,
) -> ListedObjects:
    """Return the list that the words of a command line name; with `every` also policy kinds that the source lacks.

    Raises CommandError for words of another form, and for a kind or object that does not exist.
    """
    from bridge.queries.asking import policy_kind, target_keys
    from bridge.queries.description import listed_objects
    from bridge.queries.names import match_kinds

    form = LIST_OF.get(words[0].lower(), "objects")
    names = frozenset(words[1:])
    chosen = await policy_kind(engine.opa, kind) if kind else None
    if form == "policykinds":
        kinds = await listed_kinds(engine.opa, chosen, every=every or bool(names))
        types: dict[str, Sequence[str]] = {entry["policyKind"]: () for entry in kinds}
        meant = frozenset(found for name in names for found in match_kinds(name, types) or [name])
        return ListedObjects(form, _named(kinds, "policyKind", meant))
    if form == "modules":
        return ListedObjects(form, _named(list(map(_module, await engine.modules())), "name", names))
    if form == "targets":
        entries = await listed_targets(engine.opa, chosen, namespace, selects)
        return ListedObjects(form, await _at_targets(engine.opa, entries, words[1:], namespace))
    if form == "policies":
        found = await listed_policies(engine.opa, chosen, namespace, selects)
        return ListedObjects(form, _named(found, "policy", names))
    keys = await target_keys(engine.opa, words, namespace)
    of_policies = set(await engine.opa.query("kinds_in_force", {})) & {key.type_id for key in keys}
    if of_policies:
        if len({key.type_id for key in keys}) > 1:
            raise CommandError(f"{' '.join(words)} names policies and other objects: list them separately")
        found = await listed_policies(engine.opa, of_policies.pop(), namespace, selects)
        wanted = {str(key) for key in keys}
        return ListedObjects("policies", [entry for entry in found if entry["policy"] in wanted])
    listed = await listed_objects(engine.opa, keys)
    return ListedObjects("objects", [entry for entry in listed if selects is None or selects(entry["labels"])])


async def _at_targets(opa: Opa, entries: list[Entry], words: Sequence[str], namespace: str | None) -> list[Entry]:
    """Return the entries of the targets that words name, and of the sections of these; all without words."""
    from bridge.queries.asking import target_keys

    if not words:
        return entries
    named = set(await target_keys(opa, words, namespace))
    return [entry for entry in entries if {key := parse_key(entry["target"]), key.object} & named]


def _named(entries: list[Entry], field: str, names: frozenset[str]) -> list[Entry]:
    """Return the entries with these names, or all. Raises NameNotFoundError for a name without an entry."""
    if not names:
        return entries
    found = [entry for entry in entries if names & _spellings(entry[field])]
    missing = names - {name for entry in found for name in _spellings(entry[field])}
    if missing:
        raise NameNotFoundError(f"not found: {', '.join(sorted(missing))}")
    return found


def _spellings(text: str) -> set[str]:
    """Return the names by which an entry is listed: its key, its name, and what tables print."""
    spellings = {text, text.rpartition("/")[2]}
    if text.count("/") == 3:  # a policy kind is not a key
        key = parse_key(text)
        spellings |= {name_of(key), short_key(key)}
    return spellings


async def listed_policies(opa: Opa, kind: str | None, namespace: str | None, selects: Selects | None) -> list[Entry]:
    """Return policies, with class, mode, targets, accepted, programmed, message, incomplete?, scopes and created.

    Each also has the fields of `identity`. `scopes` is `{affected, all}`: its paths with an effect, and all its paths.
    """
    from bridge.queries.asking import labels_of, objects
    from bridge.queries.statuses import statuses

    kinds = await opa.query("kinds_in_force", {})
    found = await statuses(opa, with_objects=False, kind=kind, with_affected=False)
    chosen = [entry for entry in found.policies if namespace in {None, parse_key(entry["policy"]).namespace}]
    held = {str(key): obj for key, obj in (await objects(opa, (parse_key(one["policy"]) for one in chosen))).items()}
    return [
        identity(obj)
        | {
            "policy": entry["policy"],
            "policyKind": entry["policyKind"],
            "class": kinds[entry["policyKind"]]["class"],
            "mode": entry["mode"],
            "targets": _targets(obj),
            **_conditions(entry),
            **({"incomplete": entry["incomplete"]} if "incomplete" in entry else {}),
            "scopes": found.scopes[entry["policy"]],
            "created": obj["metadata"].get("creationTimestamp"),
        }
        for entry in chosen
        if (obj := held.get(entry["policy"])) is not None and (selects is None or selects(labels_of(obj)))
    ]


async def listed_kinds(opa: Opa, kind: str | None, *, every: bool) -> list[Entry]:
    """Return the policy kinds: `{policyKind, class, mode, effectiveTarget, strategies, source, accepted, message}`.

    Without `every` they are those that the source has: by a CRD, a PolicyKind or a policy.

    Types of policies that no policy kind describes have `not described` in `accepted`. Kinds of a PolicyKind also have
    its `identity`.
    """
    from bridge.queries.asking import objects, refused_policy_kinds, undescribed

    active = await opa.query("kinds_in_force", {})
    had = {name for name, about in (await opa.query("types", {})).items() if about["policy"]}
    held = await objects(opa, map(parse_key, await opa.query("policykinds", {})))
    described = {f"{obj['spec']['group']}/{obj['spec']['kind']}": obj for obj in held.values() if _describes(obj)}
    listed = [
        (identity(described[name]) if name in described and "PolicyKind" in about["layers"] else {})
        | {
            "policyKind": name,
            "class": about["class"],
            "mode": about["mode"],
            "effectiveTarget": about["effectiveTarget"],
            "strategies": _strategies(about),
            "source": [LAYERS.get(layer, layer) for layer in about["layers"]],
            "accepted": "True",
            "message": "",
        }
        for name, about in sorted(active.items())
        if kind == name or (kind is None and (every or name in had or about["layers"] != ["Preset"]))
    ]
    if kind is None:
        for key, message in await refused_policy_kinds(opa):
            refused = identity(held[key]) if key in held else {}
            refused |= {"policyKind": key.name, "class": "", "mode": "", "effectiveTarget": "", "strategies": []}
            listed.append({**refused, "source": ["PolicyKind"], "accepted": "False", "message": message})
    for name, about in (await undescribed(opa)).items():
        if kind in {None, name}:
            unknown = {"policyKind": name, "class": "", "mode": "", "effectiveTarget": "", "strategies": []}
            source = ["CRD"] if "crd" in about else []
            listed.append({**unknown, "source": source, "accepted": "not described", "message": about["message"]})
    return listed


async def listed_targets(opa: Opa, kind: str | None, namespace: str | None, selects: Selects | None) -> list[Entry]:
    """Return every effective target that has a policy: `{target, policyKind, paths, policies: [{policy, outcome}]}`.

    Each also has the `identity` of its object.
    """
    from bridge.queries.asking import effective_everywhere, selected

    entries = await selected(opa, await effective_everywhere(opa, kind, namespace), "target", selects)
    counted = [{**entry, "paths": len(entry["paths"]), "policies": _outcomes(entry["paths"])} for entry in entries]
    return await _identified(opa, counted)


async def uncovered_targets(opa: Opa, text: str, namespace: str | None, selects: Selects | None) -> list[Entry]:
    """Return the result of `uncovered` with the `identity` of each object. Raises NameNotFoundError."""
    from bridge.queries.asking import selected, uncovered

    return await _identified(opa, await selected(opa, await uncovered(opa, text, namespace), "target", selects))


async def _identified(opa: Opa, entries: Sequence[Entry]) -> list[Entry]:
    """Return entries of targets with the `identity` of each object."""
    from bridge.queries.asking import objects

    held = await objects(opa, dict.fromkeys(parse_key(entry["target"]).object for entry in entries))
    return [identity(held.get(parse_key(entry["target"]).object, {})) | entry for entry in entries]


def _module(entry: Entry) -> Entry:
    key = parse_key(entry["name"])  # a ConfigMap or RegoPolicy
    version = "v1" if key.group == CORE else f"{key.group}/v1alpha1"
    namespace = {} if key.namespace == CLUSTER else {"namespace": key.namespace}
    return identity({"apiVersion": version, "kind": key.kind, "metadata": {"name": key.name, **namespace}}) | entry


def _describes(policy_kind: Mapping[str, Any]) -> bool:
    """Return whether a PolicyKind names a kind; a rejected one may have any spec."""
    spec = policy_kind.get("spec")
    return isinstance(spec, dict) and {"group", "kind"} <= spec.keys()


def _targets(policy: Mapping[str, Any]) -> list[str]:
    """Return the targets in the form of a policy: `HTTPRoute/cart#checkout`, `Service app=web`."""
    spec = as_mapping(policy.get("spec"))
    refs = spec.get("targetRefs") if isinstance(spec.get("targetRefs"), list) else [spec.get("targetRef")]
    selectors = spec.get("targetSelectors")
    texts = [reference_text(ref, "") for ref in refs or () if isinstance(ref, dict)]
    if isinstance(spec.get("targetReference"), dict):
        texts.append(reference_text(spec["targetReference"], "Service"))
    for ref in selectors if isinstance(selectors, list) else ():
        if isinstance(ref, dict):
            labels = ref.get("matchLabels")
            pairs = ",".join(f"{key}={value}" for key, value in labels.items()) if isinstance(labels, dict) else ""
            texts.append(f"{ref.get('kind', '')} {pairs}".strip())
    return texts


def _conditions(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return Accepted and the reason of the outcome; for several ancestors each value once."""
    from bridge.queries.statuses import condition_groups

    groups = condition_groups(entry)
    accepted = [one for group in groups for one in group if one["type"] == "Accepted"]
    others = [one for group in groups for one in group if one["type"] != "Accepted"]
    return {
        "accepted": _each_once(accepted, lambda one: str(one["status"])),
        "programmed": _each_once(others, lambda one: str(one["reason"])),
        "message": _each_once(others or accepted, lambda one: str(one["message"])),
    }


def _each_once(conditions: list[Mapping[str, Any]], text: Callable[[Mapping[str, Any]], str]) -> str:
    return ", ".join(dict.fromkeys(text(one) for one in conditions))


def _strategies(about: Mapping[str, Any]) -> list[str]:
    """Return the possible strategies of a kind's policies: the default, then those of its paths, then its own names."""
    by_place = [path["strategy"] for path in about["specPaths"] if path.get("strategy")]
    by_word = [one if isinstance(one, str) else one["strategy"] for one in about["strategies"].values()]
    return list(dict.fromkeys([about["defaultStrategy"], *by_place, *by_word]))


def _outcomes(paths: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the outcomes of each policy over all paths; a policy may be overridden on some of them."""
    outcomes: dict[str, set[str]] = {}
    for path in paths:
        for policy in path["policies"]:
            outcomes.setdefault(policy["policy"], set()).add(policy.get("outcome", "Failed"))
    return [
        {"policy": key, "outcome": found.pop() if len(found) == 1 else "PartiallyProgrammed"}
        for key, found in sorted(outcomes.items())
    ]


def _names(found: ListedObjects) -> list[str]:
    """Return kubectl's names; effective targets and policy kinds are not objects, so they have their keys."""
    field = _LISTS[found.form].named_by
    if found.form in {"targets", "uncovered", "policykinds"}:
        return [entry[field] for entry in found.entries]
    return [object_name(parse_key(entry[field])) for entry in found.entries]


def _policies_table(entries: Sequence[Entry], wide: bool) -> Table:
    """Return a row for each policy. Wide: also the mode and the message."""
    what = "NAMESPACE", "NAME", "KIND", "CLASS", "MODE", "TARGET"
    spare = () if wide else ("CLASS", "AGE", "PATHS")
    table = Table([*what, "ACCEPTED", "PROGRAMMED", "PATHS", "AGE", "MESSAGE"], spare=spare)
    for entry in entries:
        key = parse_key(entry["policy"])
        targets, mode = ", ".join(entry["targets"]) or "<none>", entry["mode"] if wide else ""
        scopes = f"{entry['scopes']['affected']}/{entry['scopes']['all']}"
        what = namespace_cell(key), key.name, key.kind, entry["class"], mode, targets
        message = entry["message"] if wide else ""
        programmed = entry["programmed"] + (MARKS["Incomplete"] if "incomplete" in entry else "")
        outcome = entry["accepted"], programmed, scopes, _age(entry["created"]), message
        table.rows.append([*what, *outcome])
    return table.without_empty("NAMESPACE", "MODE", "AGE", "MESSAGE")


def _kinds_table(entries: Sequence[Entry], wide: bool) -> Table:
    """Return a row for each policy kind."""
    titles = ["KIND", "CLASS", "MODE", "ACTS AT", "STRATEGIES", "SOURCE", "ACCEPTED", "MESSAGE"]
    table = Table(titles, spare=() if wide else ("CLASS", "SOURCE", "STRATEGIES"))
    for entry in entries:
        lists = ", ".join(entry["strategies"]), ", ".join(entry["source"])
        what = entry["policyKind"], entry["class"], entry["mode"], entry["effectiveTarget"]
        table.rows.append([*what, *lists, entry["accepted"], entry["message"]])
    return table.without_empty("MESSAGE")


def _targets_table(entries: Sequence[Entry], wide: bool) -> Table:
    """Return a row for each effective target and policy kind."""
    table = Table(["TARGET", "POLICY KIND", "PATHS", "POLICIES"])
    for entry in entries:
        outcomes = (name_of(parse_key(one["policy"])) + MARKS.get(one["outcome"], "") for one in entry["policies"])
        what = short_key(parse_key(entry["target"])), kind_text(entry["policyKind"], wide=wide)
        table.rows.append([*what, str(entry["paths"]), ", ".join(outcomes)])
    return table


def _uncovered_table(entries: Sequence[Entry], wide: bool) -> Table:
    """Return a row for each target and path without a policy. Wide: also the policy kind."""
    long = ("UNKNOWN", "OTHER CONTROLLER", "NOT ATTACHED", "EXEMPTION")
    table = Table(["TARGET", "POLICY KIND", "VIA", *long], long=long)
    for entry in entries:
        target, kind = parse_key(entry["target"]), kind_text(entry["policyKind"], wide=True) if wide else ""
        for path in entry["paths"]:
            via = path_text(path["path"], target, wide=wide)
            exemptions = "; ".join(map(exemption_text, path["exemptions"]))
            doubts = [path.get("unknown", ""), path.get("otherController", ""), "; ".join(path.get("notAttached", ()))]
            table.rows.append([short_key(target), kind, via, *doubts, exemptions])
    return table.without_empty("POLICY KIND", *long)


def _objects_table(entries: Sequence[Entry], wide: bool) -> Table:
    """Return a row for each object, with the columns of its kind. Wide: also policies that are not accepted."""
    names = list(dict.fromkeys(name for entry in entries for name in entry["details"]))
    several = len({parse_key(entry["object"]).kind for entry in entries}) > 1
    spare = () if wide else ("AGE", "ADDRESSES", "TYPE", "HOSTNAMES", "PROGRAMMED")
    table = Table(["NAMESPACE", "NAME", "KIND", *names, "ROUTES", "POLICIES", "AGE"], long=names, spare=spare)
    for entry in entries:
        key = parse_key(entry["object"])
        policies = [_attached(policy) for policy in entry["policies"] if wide or policy["accepted"]]
        table.rows.append(
            [
                *(namespace_cell(key), key.name, key.kind if several or wide else ""),
                *(entry["details"].get(name, "") or "<none>" for name in names),
                *(str(entry.get("routes", "")), ", ".join(policies) or "<none>", _age(entry["created"])),
            ]
        )
    return table.without_empty("NAMESPACE", "KIND", "ROUTES", "AGE")


def _attached(policy: Entry) -> str:
    key, at = parse_key(policy["policy"]), parse_key(policy["at"])
    section = f"{TIE}on{TIE}#{at.section}" if at.section else ""
    reason = "" if policy["accepted"] else f"{TIE}({policy.get('reason', 'not accepted')})"
    return f"{key.kind}/{name_of(key)}{section}{reason}"


def _modules_table(entries: Sequence[Entry], wide: bool) -> Table:
    """Return a row for each object that submits Rego, with its state. Wide: also its packages."""
    table = Table(["NAMESPACE", "NAME", "KIND", "STATE", "PACKAGES", "MESSAGE"])
    for entry in entries:
        key = parse_key(entry["name"])
        packages = ", ".join(entry["packages"]) if wide else ""
        table.rows.append([namespace_cell(key), key.name, key.kind, entry["state"], packages, entry["message"]])
    return table.without_empty("NAMESPACE", "PACKAGES", "MESSAGE")


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))  # seconds, as kubectl writes ages


def _age(created: str | None) -> str:
    """Return the time since a creationTimestamp, in its largest unit; empty if it is missing or invalid."""
    try:
        seconds = int((dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(created or "")).total_seconds())
    except (ValueError, TypeError):
        return ""
    return next((f"{seconds // size}{unit}" for size, unit in _UNITS if seconds >= size), "0s")


@dataclass(frozen=True, slots=True)
class _List:
    """How a list is printed; `named_by` is the field with the key or name of an entry."""

    named_by: str
    table: Callable[[Sequence[Entry], bool], Table]


_LISTS = {
    "objects": _List("object", _objects_table),
    "policies": _List("policy", _policies_table),
    "policykinds": _List("policyKind", _kinds_table),
    "targets": _List("target", _targets_table),
    "uncovered": _List("target", _uncovered_table),
    "modules": _List("name", _modules_table),
}
