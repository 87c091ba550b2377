"""What a bridge with given settings must be allowed to do: least verbs, and nothing beside what it does. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.admission.configuration import GROUP, KINDS
from bridge.model.access import Access
from bridge.model.keys import CORE
from bridge.model.types import regular_plural
from bridge.modules.config_maps import CONFIG_MAP
from bridge.modules.rego_policies import REGO_POLICY
from bridge.runtime.settings import Settings
from bridge.runtime.types import ALWAYS
from bridge.runtime.world import plural_by_rule

READ = ("get", "list", "watch")
_REPORTED = ("policybridge.io/PolicyKind", "policybridge.io/Constraint")  # whose statuses are always written
_EVERYWHERE = ("",)


@dataclass(frozen=True, slots=True)
class Facts:
    """What OPA and the API server say: `kinds` are the replicated policy kinds, `written` answers `writable_types`.

    `plural` gives a type's name in URLs, `namespaced` whether its objects are in namespaces.
    """

    kinds: Sequence[str] = ()
    written: Mapping[str, Sequence[str]] = field(default_factory=dict)
    plural: Callable[[str], str] = plural_by_rule
    namespaced: Callable[[str], bool] = lambda _: True


def replicated_types(settings: Settings) -> tuple[str, ...]:
    """The types that are replicated whatever the policy kinds are: Gateway API's, and those that the settings name."""
    named = (*(one.type for one in settings.selected_types), *(one.type_id for one in settings.placed_types))
    return tuple(dict.fromkeys((*ALWAYS, *named)))


def always_read(*verbs: str) -> list[Access]:
    """These verbs on all that every bridge replicates."""
    found = []
    for type_id in ALWAYS:
        group = type_id.partition("/")[0]
        found.append(Access("", "" if group == CORE else group, plural_by_rule(type_id), verbs))
    return found


def needed_access(settings: Settings, facts: Facts) -> list[Access]:
    """All that `bridge run` does with these settings on a cluster, in a stable order."""
    return sorted({*_of_objects(settings, facts), *_of_policies(settings), *_of_itself(settings)})


def explained_kinds(kinds: Mapping[str, Mapping[str, Any]], *, served: bool) -> list[str]:
    """Of the answer to `kinds_in_force` those that are replicated; with `served` it was a cluster that was asked.

    A cluster that no CRD and no PolicyKind tells of a shipped preset's kind does not serve it.
    """
    return [name for name, about in kinds.items() if not served or about["layers"] != ["Preset"]]


def _of_objects(settings: Settings, facts: Facts) -> Iterator[Access]:
    chosen = {one.type: one.selection.namespaces for one in settings.selected_types}

    def each(types: Iterable[str], verbs: tuple[str, ...], why: str, subresource: str = "") -> Iterator[Access]:
        for type_id in types:
            namespaces = chosen.get(type_id, ()) if facts.namespaced(type_id) else ()
            group, resource = type_id.partition("/")[0], facts.plural(type_id) + subresource
            for namespace in namespaces or _EVERYWHERE:
                yield Access(namespace, "" if group == CORE else group, resource, verbs, why=why)

    yield from each(dict.fromkeys((*replicated_types(settings), *facts.kinds)), READ, "replicated")
    yield from each(_REPORTED, ("patch",), "statuses", "/status")
    yield from each(facts.written.get("status", ()), ("patch",), "statuses", "/status")
    yield from each(facts.written.get("annotations", ()), ("patch",), "annotations")
    placed = [one.type_id for one in settings.placed_types if one.mode == "Write"]
    yield from each(placed, ("patch",), "placement")


def _of_policies(settings: Settings) -> Iterator[Access]:
    group, _, kind = REGO_POLICY.partition("/")
    yield Access("", group, regular_plural(kind), READ, why="admins' Rego")
    yield Access("", group, f"{regular_plural(kind)}/status", ("patch",), why="statuses")
    everywhere = "*" in settings.policy_namespaces
    for namespace in _EVERYWHERE if everywhere else settings.policy_namespaces:
        resource = regular_plural(CONFIG_MAP.partition("/")[2])
        yield Access(namespace, "", resource, READ, why="admins' Rego")
        yield Access(namespace, "", resource, ("patch",), why="annotations")


def _of_itself(settings: Settings) -> Iterator[Access]:
    where, lease = settings.lease_namespace, (settings.lease_name,)
    why = "who writes"
    yield Access(where, "coordination.k8s.io", "leases", ("create",), why=why)
    yield Access(where, "coordination.k8s.io", "leases", ("get", "update"), lease, why=why)
    yield Access("", "events.k8s.io", "events", ("create", "patch"), why="Events")
    if settings.webhook_listen is None:
        return
    configuration = (settings.webhook_configuration,)
    why = "failurePolicy and caBundle"
    for which in KINDS:
        yield Access("", GROUP, which.plural, ("get", "patch"), configuration, why=why)
    if settings.webhook_cert_file is None:
        why = "the webhook's certificate"
        yield Access(where, "", "secrets", ("create",), why=why)
        yield Access(where, "", "secrets", ("get", "update"), (settings.webhook_secret,), why=why)
