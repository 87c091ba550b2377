"""Names as users type them: kinds in any letter case, and targets.

Kinds: `ColorPolicy`, `colorpolicies`, `cp` (from its CRD), `example.com/ColorPolicy`, `colorpolicies.example.com`.
Targets: a full key, `httproute/cart`, `HTTPRoute/shop/cart#checkout`, `gtw/public#https`, `infra/public#https`.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.model.keys import CLUSTER, CORE, FRONTEND, Key
from bridge.model.types import regular_plural


class CommandError(Exception):
    """Wrong usage or input: one line with the valid form. The command exits with 2."""


class NameNotFoundError(CommandError):
    """A name does not exist; the text has similar names."""


class UnknownKindError(CommandError):
    """A word without a name is not a kind; the text has the valid forms and similar kinds."""


class AmbiguousNameError(CommandError):
    """A name is ambiguous; the text lists the candidates."""


# Types of workloads that Services select, with kubectl's short names.
WORKLOADS = {"core/Pod": "po", "apps/Deployment": "deploy", "apps/StatefulSet": "sts", "apps/DaemonSet": "ds"}

# kubectl's names for kinds without a CRD, as in a folder of manifests.
_SHORT_NAMES = {
    "core/Namespace": ("ns",),
    "core/Service": ("svc",),
    **{name: (short,) for name, short in WORKLOADS.items()},
    "gateway.networking.k8s.io/Gateway": ("gtw",),
    "gateway.networking.k8s.io/GatewayClass": ("gc",),
    "gateway.networking.k8s.io/ListenerSet": ("lset",),
    "gateway.networking.k8s.io/ReferenceGrant": ("refgrant",),
    "policybridge.io/Constraint": ("cst",),
    "policybridge.io/PolicyKind": ("pk",),
}

# One word for all kinds of routes. The order is the one in suggestions.
_ROUTES = tuple(
    f"gateway.networking.k8s.io/{kind}" for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
)
_NAMED = 3  # kinds that a suggestion lists
_NEAR = 0.6  # the lowest similarity of a suggestion, by difflib
_VERY_NEAR = 0.9  # the lowest similarity of a suggestion of the word for several kinds
_AS_NEAR = 0.05  # the largest distance of a suggestion from the most similar kind
_ALL_ROUTES = "routes"
_GROUPS = {_ALL_ROUTES: _ROUTES, "route": _ROUTES}
_LIKELY = (*_ROUTES, "gateway.networking.k8s.io/Gateway", "core/Service", "gateway.networking.k8s.io/GatewayClass")


def match_kinds(text: str, types: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the types (`<group>/<Kind>`) for a text; `types` has each with the names in its CRD."""
    wanted = text.lower()
    found = sorted(type_id for type_id, names in types.items() if wanted in _list_spellings(type_id, names))
    return found or [type_id for type_id in _GROUPS.get(wanted, ()) if type_id in types]


def resolve_kind(text: str, types: Mapping[str, Sequence[str]], what: str) -> str:
    """Return the one type for a text.

    Raises NameNotFoundError with similar names, or AmbiguousNameError with the candidates. `what` is the name of types
    in these messages: `policy kind`.
    """
    found = match_kinds(text, types)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousNameError(f"{text!r} may be several {what}s: {', '.join(found)}")
    raise NameNotFoundError(f"unknown {what} {text!r}{suggest_kinds(text, types)}")


def suggest_kinds(text: str, types: Mapping[str, Sequence[str]]) -> str:
    """Return the end of a message: the kind's own group, otherwise the most similar kinds or, of few kinds, all."""
    wanted = text.lower()
    if of_other_groups := _find_in_other_groups(wanted, types):
        kind, group = of_other_groups[0].rpartition("/")[2], either([_group(type_id) for type_id in of_other_groups])
        return f"; {kind} is of the group {group}"
    likeness = {
        type_id: max(_compare(wanted, spelling) for spelling in _list_spellings(type_id, names))
        for type_id, names in types.items()
    }
    if match_kinds(_ALL_ROUTES, types) and _compare(wanted, _ALL_ROUTES) > max([_VERY_NEAR, *likeness.values()]):
        return f"; did you mean {_ALL_ROUTES}?"
    least = max([_NEAR, *(found - _AS_NEAR for found in likeness.values())])
    near = [type_id for type_id, found in likeness.items() if found >= least]
    kinds = sorted(near, key=lambda type_id: (-likeness[type_id], _rank_likely(type_id), type_id))[:_NAMED]
    if kinds:
        return f"; did you mean {either(_shorten(kinds, types))}?"
    if not types:
        return "; none exist"
    return f"; known: {', '.join(_shorten(sorted(types), types))}" if len(types) <= 6 else ""


def _find_in_other_groups(wanted: str, types: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the types for a text except its group, `GROUP/KIND` or `KIND.GROUP`."""
    group, _, word = wanted.partition("/")
    if not word:
        word, _, group = wanted.partition(".")
    return match_kinds(word, types)[:_NAMED] if group and word else []


def _group(type_id: str) -> str:
    return type_id.partition("/")[0]


def _compare(wanted: str, spelling: str) -> float:
    """Return the similarity of two spellings, from 0 to 1; a word within a kind's name counts as nearly the same."""
    if len(wanted) > 3 and wanted in spelling:
        return 0.95
    return difflib.SequenceMatcher(None, wanted, spelling).ratio()


def _rank_likely(type_id: str) -> int:
    return _LIKELY.index(type_id) if type_id in _LIKELY else len(_LIKELY)


def either(names: Sequence[str]) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _shorten(kinds: Iterable[str], types: Iterable[str]) -> list[str]:
    """Return kinds without their group if that is unambiguous."""
    every = [type_id.partition("/")[2] for type_id in types]
    return [kind if every.count(kind.partition("/")[2]) > 1 else kind.partition("/")[2] for kind in kinds]


def _list_spellings(type_id: str, names: Sequence[str]) -> set[str]:
    group, _, kind = type_id.lower().partition("/")
    words = {kind, regular_plural(kind), *(name.lower() for name in names), *_SHORT_NAMES.get(type_id, ())}
    qualified = {f"{group}/{word}" for word in words} | {f"{word}.{group}" for word in words}
    return words | qualified | ({f"/{word}" for word in words} if group == CORE else set())


_SUGGESTIONS = 3  # suggestions
_FORMS = "write KIND/NAME[#SECTION], KIND NAME, [KIND/]NAMESPACE/NAME or a full key"
_CANDIDATES = 10  # candidates that an ambiguous name lists


@dataclass(frozen=True, slots=True)
class Reference:
    """A target as typed: the possible types of its kind, and the rest (`namespace` None: not given)."""

    text: str
    types: tuple[str, ...]
    namespace: str | None
    name: str
    section: str = ""
    role: str = ""


def join_words(words: Sequence[str]) -> list[str]:
    """Return the references of a command line: `KIND/NAME…`, or kubectl's `KIND [NAMESPACE/]NAME…`.

    A kind without a name means all objects of the kind. Raises CommandError for a mixture of both forms.
    """
    if not words or "/" in words[0]:
        bare = [word for word in words if "/" not in word]
        if bare:
            raise CommandError(f"{bare[0]!r} has no kind: write KIND/NAME for each, or KIND NAME1 NAME2")
        return list(words)
    kind, *names = words
    return [f"{kind}/{name}" for name in names] or [kind]


def read_reference(text: str, types: Mapping[str, Sequence[str]], namespace: str | None = None) -> Reference:
    """Parse `[GROUP/]KIND/[NAMESPACE/]NAME[#SECTION][@frontend]`; `namespace` is the default namespace.

    A kind alone is a reference without a name, which means all objects of the kind.

    Raises CommandError for another form, UnknownKindError for a word without a name that is not a kind, and
    NameNotFoundError for a kind that is not in `types` (in the form of `match_kinds`).
    """
    body, _, role = text.partition("@")
    body, _, section = body.partition("#")
    parts = body.split("/")
    if len(parts) == 1 and parts[0] and text == body:
        parts.append("")
    elif not 2 <= len(parts) <= 4 or not all(parts) or role not in {"", FRONTEND}:
        raise CommandError(f"{text!r} is not a target: {_FORMS}")
    kind, space, name = _read_parts(parts, types)
    found = match_kinds(kind, types)
    if not found and not name:
        raise UnknownKindError(f"{text!r} is not a kind: {_FORMS}{suggest_kinds(kind, types)}")
    if not found:
        raise NameNotFoundError(f"{text}: unknown kind {kind!r}{suggest_kinds(kind, types) or f': {_FORMS}'}")
    return Reference(text, tuple(found), space or namespace, name, section, role)


_KINDLESS = re.compile(r"([^/#@]+)/([^/#@]+)(?:#([^@]+))?")


def read_kindless(text: str) -> tuple[str, str, str] | None:
    """Return the namespace, the name and the section of `NAMESPACE/NAME[#SECTION]`, as tables print it."""
    found = _KINDLESS.fullmatch(text)
    return (found[1], found[2], found[3] or "") if found else None


def names_kind(text: str, types: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a text begins with a kind, or has as many parts as a full key; `types` as for `match_kinds`."""
    parts = text.split("/")
    return len(parts) == 4 or bool(match_kinds(parts[0], types) or match_kinds("/".join(parts[:-1][:2]), types))


def _read_parts(parts: list[str], types: Mapping[str, Sequence[str]]) -> tuple[str, str | None, str]:
    if len(parts) == 4:
        return f"{parts[0]}/{parts[1]}", parts[2], parts[3]
    if len(parts) == 3 and not match_kinds(parts[0], types) and match_kinds("/".join(parts[:2]), types):
        return f"{parts[0]}/{parts[1]}", None, parts[2]
    return parts[0], parts[1] if len(parts) == 3 else None, parts[-1]


def choose(reference: Reference, candidates: Sequence[Key]) -> Key | None:
    """Return the object of a reference among those of its types and name, None if there is none; with section and role.

    Raises AmbiguousNameError, with the candidates, if there are several.
    """
    found = [key for key in candidates if key.name == reference.name and _is_in_namespace(key, reference.namespace)]
    if not found:
        return None
    if len(found) > 1:
        listed = first_of([str(_add_section(key, reference)) for key in found], _CANDIDATES)
        raise AmbiguousNameError(f"{reference.text} may be several objects: {listed}")
    return _add_section(found[0], reference)


def not_found(reference: Reference, objects: Sequence[Key]) -> NameNotFoundError:
    """Return the error for a reference without an object, with similar names among all objects of its types."""
    where = f" in namespace {reference.namespace}" if reference.namespace not in {None, CLUSTER} else ""
    reachable = [key for key in objects if _is_in_namespace(key, reference.namespace)]
    hint = suggest_objects(reference, objects) or _list_choices(reference, reachable or objects)
    return NameNotFoundError(f"{reference.text} is not found{where}{hint}")


def suggest_objects(reference: Reference, objects: Sequence[Key]) -> str:
    """Return the end of a message: objects of the same name elsewhere, otherwise similar names in the namespace."""
    objects = sorted(objects, key=lambda key: _rank_likely(key.type_id))
    elsewhere = [key for key in objects if key.name == reference.name]
    reachable = [key for key in objects if _is_in_namespace(key, reference.namespace)]
    near = difflib.get_close_matches(reference.name, dict.fromkeys(key.name for key in reachable), n=_SUGGESTIONS)
    similar = [key for name in near for key in reachable if key.name == name]
    suggestions = [short_key(_add_section(key, reference)) for key in (elsewhere or similar)[:_SUGGESTIONS]]
    return f"; did you mean {either(suggestions)}?" if suggestions else ""


def _list_choices(reference: Reference, objects: Sequence[Key]) -> str:
    """Return the end of a message without similar names: the objects that a user can choose from."""
    if not objects:
        return f"; no {either([type_id.rpartition('/')[2] for type_id in reference.types])} exists"
    return f"; existing: {first_of([short_key(key) for key in objects], _CANDIDATES)}"


def section_not_found(target: Key, sections: Sequence[Key]) -> NameNotFoundError:
    """Return the error for an object without such a section, with similar ones or, if there are few, all sections."""
    hint = suggest_sections(target, sections)
    return NameNotFoundError(f"{short_key(target.object)} has no section {target.section!r}{hint}")


def suggest_sections(target: Key, sections: Sequence[Key]) -> str:
    """Return the end of a message: similar sections of the object or, if there are few, all of them."""
    names = [key.section for key in sections if key.object == target.object and key.section]
    near = difflib.get_close_matches(target.section, names, n=_SUGGESTIONS) or (names if len(names) <= 8 else [])
    return f"; did you mean {either([short_key(target._replace(section=name)) for name in near])}?" if near else ""


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first of some texts, and the number of others."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def short_key(key: Key) -> str:
    """Return a key without its group, for tables: `HTTPRoute/shop/cart#checkout`. Commands accept it as a target."""
    namespace = "" if key.namespace == CLUSTER else f"{key.namespace}/"
    section = f"#{key.section}" if key.section else ""
    return f"{key.kind}/{namespace}{key.name}{section}" + (f"@{key.role}" if key.role else "")


def exemption_text(exemption: Mapping[str, Any]) -> str:
    """Return an exemption of a Constraint for people: its owner, last day and reason."""
    return f"{exemption['owner']} until {exemption['until']}, {exemption['reason']}"


def reference_text(ref: Mapping[str, Any], kind: str = "Gateway") -> str:
    """Return the target or parent of a reference as users type it: `Gateway/infra/public#https`; `kind` by default."""
    namespace = f"{ref['namespace']}/" if ref.get("namespace") else ""
    section = f"#{ref['sectionName']}" if ref.get("sectionName") else ""
    return f"{ref.get('kind', kind)}/{namespace}{ref.get('name', '')}{section}"


_IDENTITY = ("name", "namespace", "labels", "creationTimestamp")


def identity(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields by which kubectl's templates name an object: `apiVersion`, `kind`, `metadata` without the rest.

    An object that no longer exists is `{}`, and so is its identity.
    """
    if not obj:
        return {}
    metadata = {name: obj["metadata"][name] for name in _IDENTITY if name in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}


def object_name(key: Key) -> str:
    """Return the name of an object as `kubectl -o name` prints it: `service/catalog`, `httproute.<group>/cart`."""
    group = "" if key.group == CORE else f".{key.group}"
    return f"{key.kind.lower()}{group}/{key.name}"


def _is_in_namespace(key: Key, namespace: str | None) -> bool:
    return namespace is None or key.namespace in {namespace, CLUSTER}


def _add_section(key: Key, reference: Reference) -> Key:
    return key._replace(section=reference.section, role=reference.role)
