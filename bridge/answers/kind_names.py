"""What a person may call a kind, in any letter case.

`ColorPolicy`, `colorpolicies`, `cp` (what its CRD says), `example.com/ColorPolicy`, `colorpolicies.example.com`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from bridge.answers.errors import AmbiguousNameError, NameNotFoundError
from bridge.model.keys import CORE
from bridge.model.types import regular_plural

# What kubectl knows without a CRD being at hand, as in a folder of manifests.
_SHORT_NAMES = {
    "core/Namespace": ("ns",),
    "core/Service": ("svc",),
    "gateway.networking.k8s.io/Gateway": ("gtw",),
    "gateway.networking.k8s.io/GatewayClass": ("gc",),
    "gateway.networking.k8s.io/ListenerSet": ("lset",),
    "gateway.networking.k8s.io/ReferenceGrant": ("refgrant",),
    "policybridge.io/Constraint": ("cst",),
    "policybridge.io/PolicyKind": ("pk",),
}

# One word for all kinds of routes, as people speak of them. The order is the one in which suggestions name them.
_ROUTES = tuple(
    f"gateway.networking.k8s.io/{kind}" for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
)
_NAMED = 3  # kinds that a suggestion names
_NEAR = 0.6  # the least likeness of a suggestion, as difflib has it
_GROUPS = {"routes": _ROUTES, "route": _ROUTES}
_LIKELY = (*_ROUTES, "gateway.networking.k8s.io/Gateway", "core/Service", "gateway.networking.k8s.io/GatewayClass")


def match_kinds(text: str, types: Mapping[str, Sequence[str]]) -> list[str]:
    """The types (`<group>/<Kind>`) that a text may mean; `types` has each with the names that its CRD gives it."""
    wanted = text.lower()
    found = sorted(type_id for type_id, names in types.items() if wanted in _spellings(type_id, names))
    return found or [type_id for type_id in _GROUPS.get(wanted, ()) if type_id in types]


def resolve_kind(text: str, types: Mapping[str, Sequence[str]], what: str) -> str:
    """The one type that a text means.

    Raises NameNotFoundError with near matches, or AmbiguousNameError with the candidates. `what` is what types are
    called in these: `policy kind`.
    """
    found = match_kinds(text, types)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousNameError(f"{text!r} may be several {what}s: {', '.join(found)}")
    raise NameNotFoundError(f"there is no {what} {text!r}{suggest_kinds(text, types)}")


def suggest_kinds(text: str, types: Mapping[str, Sequence[str]]) -> str:
    """The end of a message: the kind's own group, else the most similar kinds first or, of few kinds, all."""
    wanted = text.lower()
    if of_other_groups := _of_other_groups(wanted, types):
        kind, group = of_other_groups[0].rpartition("/")[2], either([_group(type_id) for type_id in of_other_groups])
        return f"; {kind} is of the group {group}"
    likeness = {
        type_id: max(_likeness(wanted, spelling) for spelling in _spellings(type_id, names))
        for type_id, names in types.items()
    }
    near = [type_id for type_id, found in likeness.items() if found >= _NEAR]
    kinds = sorted(near, key=lambda type_id: (-likeness[type_id], _likely(type_id), type_id))[:_NAMED]
    if kinds:
        return f"; did you mean {either(_shortest(kinds, types))}?"
    if not types:
        return "; there are none at all"
    return f"; there are {', '.join(_shortest(sorted(types), types))}" if len(types) <= 6 else ""


def _of_other_groups(wanted: str, types: Mapping[str, Sequence[str]]) -> list[str]:
    """The types that a text means but for its group, `GROUP/KIND` or `KIND.GROUP`."""
    group, _, word = wanted.partition("/")
    if not word:
        word, _, group = wanted.partition(".")
    return match_kinds(word, types)[:_NAMED] if group and word else []


def _group(type_id: str) -> str:
    return type_id.partition("/")[0]


def _likeness(wanted: str, spelling: str) -> float:
    """How similar two spellings are, from 0 to 1; a word that is part of a kind's name counts as nearly the same."""
    if len(wanted) > 3 and wanted in spelling:
        return 0.95
    return difflib.SequenceMatcher(None, wanted, spelling).ratio()


def _likely(type_id: str) -> int:
    return _LIKELY.index(type_id) if type_id in _LIKELY else len(_LIKELY)


def either(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _shortest(kinds: Iterable[str], types: Iterable[str]) -> list[str]:
    """Kinds without their group where that is clear."""
    every = [type_id.partition("/")[2] for type_id in types]
    return [kind if every.count(kind.partition("/")[2]) > 1 else kind.partition("/")[2] for kind in kinds]


def _spellings(type_id: str, names: Sequence[str]) -> set[str]:
    group, _, kind = type_id.lower().partition("/")
    words = {kind, regular_plural(kind), *(name.lower() for name in names), *_SHORT_NAMES.get(type_id, ())}
    qualified = {f"{group}/{word}" for word in words} | {f"{word}.{group}" for word in words}
    return words | qualified | ({f"/{word}" for word in words} if group == CORE else set())
