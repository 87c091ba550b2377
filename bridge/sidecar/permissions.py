"""The permissions of a bridge with given settings: only the verbs that it uses. Pure.

`role_objects` returns them as a ClusterRole, a Role for each namespace, and their bindings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bridge.admission.webhook_configuration import GROUP, KINDS
from bridge.kube.report_client import FORMS
from bridge.model.keys import CORE
from bridge.model.types import ALWAYS, Access, plural_by_rule, regular_plural
from bridge.policy_loader.submissions import CONFIG_MAP, REGO_POLICY
from bridge.settings.model import Settings
from bridge.sources.defaults import known_namespaced

READ = ("get", "list", "watch")
# What commands need to read the proxies of a cluster; API servers from 1.35 on check both verbs for a WebSocket.
FORWARDED = (
    Access("", "", "pods", ("list",), why="proxies"),
    Access("", "", "pods/portforward", ("get", "create"), why="proxies"),
)
_REPORTED = ("policybridge.io/PolicyKind", "policybridge.io/Constraint")  # whose statuses are always written
_EVERYWHERE = ("",)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts from OPA and the API server: the replicated policy `kinds`, `written` as the result of `writable_types`.

    `plural` returns a type's name in URLs, `namespaced` whether its objects are in namespaces.
    """

    kinds: Sequence[str] = ()
    written: Mapping[str, Sequence[str]] = field(default_factory=dict)
    plural: Callable[[str], str] = plural_by_rule
    namespaced: Callable[[str], bool] = lambda _: True


def replicated_types(settings: Settings) -> tuple[str, ...]:
    """Return the types that are replicated for any policy kinds: Gateway API's, and those in the settings."""
    named = (*(one.type for one in settings.selected_types), *(one.type_id for one in settings.placed_types))
    return tuple(dict.fromkeys((*ALWAYS, *named)))


def always_read(*verbs: str) -> list[Access]:
    """Return these verbs on everything that every bridge replicates."""
    found = []
    for type_id in ALWAYS:
        group = type_id.partition("/")[0]
        found.append(Access("", "" if group == CORE else group, plural_by_rule(type_id), verbs))
    return found


def needed_access(settings: Settings, facts: Facts) -> list[Access]:
    """Return everything that `pbctl run` does with these settings on a cluster, in a stable order."""
    read_or_written = {*_of_objects(settings, facts), *_of_policies(settings)}
    if settings.read_only:
        return sorted(one for one in read_or_written if one.verbs == READ)
    return sorted({*read_or_written, *_of_itself(settings)})


def explained_kinds(kinds: Mapping[str, Mapping[str, Any]], *, served: bool) -> list[str]:
    """Return the replicated kinds of the result of `kinds_in_force`; `served` means that they come from a cluster.

    A cluster without a CRD or PolicyKind for a shipped preset's kind does not serve it. Other objects that a kind reads
    are replicated with it.
    """
    found = {name: about for name, about in kinds.items() if not served or about["layers"] != ["Preset"]}
    read = [name for about in found.values() for name in about["traits"]["reads"]]
    return list(dict.fromkeys([*found, *(name for name in read if name not in ALWAYS)]))


def _of_objects(settings: Settings, facts: Facts) -> Iterator[Access]:
    chosen = {one.type: one.selection.namespaces for one in settings.selected_types}

    def access_to(types: Iterable[str], verbs: tuple[str, ...], why: str, subresource: str = "") -> Iterator[Access]:
        for type_id in types:
            namespaces = chosen.get(type_id, ()) if facts.namespaced(type_id) else ()
            group, resource = type_id.partition("/")[0], facts.plural(type_id) + subresource
            for namespace in namespaces or _EVERYWHERE:
                yield Access(namespace, "" if group == CORE else group, resource, verbs, why=why)

    yield from access_to(dict.fromkeys((*replicated_types(settings), *facts.kinds)), READ, "replicated")
    yield from access_to(_REPORTED, ("patch",), "statuses", "/status")
    yield from access_to(facts.written.get("status", ()), ("patch",), "statuses", "/status")
    yield from access_to(facts.written.get("annotations", ()), ("patch",), "annotations")
    placed = [one.type_id for one in settings.placed_types if one.mode == "Write"]
    yield from access_to(placed, ("patch",), "placement")


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
    yield Access("", "", "events", ("list",), why="Events")
    for form in FORMS:
        for one in form:
            yield Access("", one.group, one.plural, ("list", "delete"), why="reports")
            yield Access("", one.group, one.plural, ("create", "patch"), why="reports")
    if settings.webhook_listen is None:
        return
    configuration = (settings.webhook_configuration,)
    for which in KINDS:
        yield Access("", GROUP, which.plural, ("get", "patch"), configuration, why="failurePolicy and caBundle")


_GROUP = "rbac.authorization.k8s.io"
Rule = dict[str, Any]


def in_namespace(access: Iterable[Access], namespace: str) -> list[Access]:
    """Return the permissions in one namespace instead of all, without those on types that are in no namespace."""
    scopes = known_namespaced().items()
    whole = {(one.partition("/")[0], plural_by_rule(one)) for one, namespaced in scopes if not namespaced}
    every = (one for one in access if not one.namespace)
    return [replace(one, namespace=namespace) for one in every if (one.group or CORE, one.resource) not in whole]


def rules(access: Iterable[Access]) -> dict[str, list[Rule]]:
    """Return the rules by namespace, "" for those of a ClusterRole. Rules with equal permissions are grouped."""
    verbs: dict[tuple[str, str, str, str], set[str]] = {}  # by namespace, group, name and resource
    for one in access:
        for name in one.names or ("",):
            verbs.setdefault((one.namespace, one.group, name, one.resource), set()).update(one.verbs)
    alike: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for (*place, resource), found in sorted(verbs.items()):
        namespace, group, name = place
        alike.setdefault((namespace, group, name, tuple(sorted(found))), []).append(resource)
    made: dict[str, list[Rule]] = {}
    for (namespace, group, name, allowed), resources in sorted(alike.items()):
        named = {"resourceNames": [name]} if name else {}
        made.setdefault(namespace, []).append(
            {"apiGroups": [group], "resources": resources, **named, "verbs": list(allowed)}
        )
    return made


def role_objects(access: Iterable[Access], name: str, service_account: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the objects to apply, all called `name`. `service_account` is the bridge's, (namespace, name)."""
    subject = {"kind": "ServiceAccount", "namespace": service_account[0], "name": service_account[1]}
    made: list[dict[str, Any]] = []
    for namespace, allowed in rules(access).items():
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        version = {"apiVersion": f"{_GROUP}/v1"}
        reference = {"apiGroup": _GROUP, "kind": kind, "name": name}
        made.append({**version, "kind": kind, "metadata": metadata, "rules": allowed})
        made.append(
            {**version, "kind": f"{kind}Binding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}
        )
    return made
