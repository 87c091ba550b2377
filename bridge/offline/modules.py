"""The Rego of admins for a command: one set of a folder or cluster, and what is wrong with the others."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from bridge.files import rego_root
from bridge.model.changes import Change, Object, Trouble, Upserted
from bridge.model.keys import CLUSTER, CORE, Key, key_of, pointer
from bridge.model.types import ALWAYS, CONSTRAINT, plural_by_rule
from bridge.opa.bundle import Bundle
from bridge.opa.errors import OpaError
from bridge.opa.executable import ensure_opa
from bridge.opa.shipped import SETTINGS as BRIDGE_SETTINGS
from bridge.opa.shipped import Shipped, reduced, shipped, shipped_guardrails
from bridge.policy_loader import reporter
from bridge.policy_loader.assembly import (
    MERGING,
    assemble,
    generated,
    kubernetes_view,
    mentions,
    paths_named,
    submissions_behind,
)
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.compile_check import PARSE_ERROR, Checker
from bridge.policy_loader.judgement import Judge, ServedModules, failures_by_author, select
from bridge.policy_loader.submissions import (
    CONFIG_MAP,
    GUARDRAILS,
    HIERARCHY,
    STRATEGIES,
    VIEW,
    WRITTEN,
    DataPath,
    ModuleProblem,
    Parts,
    Submission,
    Verdict,
    config_maps_in,
    find_flaws,
    overlap,
    path_of,
)
from bridge.policy_loader.used_guardrails import guardrail_of
from bridge.settings.loading import load_settings
from bridge.settings.model import SETTINGS, Settings

if TYPE_CHECKING:
    from bridge.kube.kube_client import KubeClient
    from bridge.opa.client import Opa


_OF_CHECKS = frozenset({"allowed_builtins", "check_memory_mib"})


@dataclass(frozen=True, slots=True)
class SettledModules:
    """The bundle with everything that compiles together, and the problems of omitted objects.

    `submissions` are all read ones, accepted or not, and `active` those in the bundle. `unread` has why objects of a
    type could not be read. `shipped` and `view` are the bridge's own part of the bundle, `guardrails` the shipped ones
    in it. `keeps_last_good`: a changed module that is rejected leaves its former version active, as in a cluster.
    `settings` are those of policies, by which further modules are read and checked.
    """

    bundle: Bundle
    problems: Mapping[Key, tuple[ModuleProblem, ...]]
    unread: Sequence[Trouble]
    submissions: Mapping[Key, Submission]
    active: Mapping[Key, Submission]
    shipped: Shipped
    view: str
    guardrails: frozenset[str]
    settings: Settings
    keeps_last_good: bool = False

    @property
    def content(self) -> Mapping[Key, tuple[Mapping[str, str], Mapping[DataPath, Any]]]:
        """Return the active modules and data by author."""
        return _content(self.active.values())


async def settle_manifests(objects: Iterable[Object], applied: Iterable[Object] = ()) -> SettledModules:
    """Return the bundle for a folder's objects, with the guardrails that Constraints among `applied` name too.

    Raises ToolError without an `opa`, CheckError for a broken one.
    """
    received = _Received()
    settings = policy_settings()
    authors = Authors(received, settings.policy_namespaces, settings.policy_rego_version)
    guardrails = _note(authors, objects) | guardrails_named(applied)
    await authors.read_waiting()
    return await _settle(received, guardrails, settings)


def _note(authors: Authors, objects: Iterable[Object]) -> set[str]:
    """Note what authors have, and return the guardrails that Constraints name."""
    objects = list(objects)
    for obj in objects:
        authors.take_in(Upserted(key_of(obj).type_id, (obj,)))
    return guardrails_named(objects)


def guardrails_named(objects: Iterable[Object]) -> set[str]:
    """Return the guardrails, by package, that the Constraints among these objects name."""
    return {guardrail_of(obj) for obj in objects if key_of(obj).type_id == CONSTRAINT} - {""}


def shipped_only(guardrails: Iterable[str]) -> set[str]:
    """Return those of these guardrails that the bridge ships."""
    return {name for name in guardrails if shipped_guardrails([name])}


async def settle_changed(
    before: SettledModules,
    applied: Iterable[Object],
    deleted: Collection[Key],
    guardrails: Iterable[str],
    queries: Iterable[str] | None = None,
) -> SettledModules:
    """Return the bundle after objects were applied and deleted, with these guardrails.

    With `queries` modules are checked with those of the bridge that these reach, and with all only if they fail: rules
    that no query evaluates may not compile with them. Raises like `settle_manifests`.
    """
    applied = list(applied)
    received = await _submitted(before, applied, deleted)
    changed = {*deleted, *map(key_of, applied)}
    left = {author: one for author, one in before.active.items() if author in received}
    if not before.keeps_last_good:
        left = {author: one for author, one in left.items() if author not in changed}
    settle = functools.partial(_settle, received, guardrails, before.settings, active=left, view=before.view)
    base = (
        before.shipped
        if queries is None
        else _reduce(before, [*left.values(), *received.values()], guardrails, queries)
    )
    found = await settle(base=base)
    if queries is not None and any(one.code != PARSE_ERROR for problems in found.problems.values() for one in problems):
        found = await settle(base=before.shipped)
    return replace(found, keeps_last_good=before.keeps_last_good)


def with_reached(one: SettledModules, other: SettledModules, queries: Iterable[str]) -> SettledModules:
    """Return modules with those of the bridge that these queries reach, and what the modules of either set reach."""
    active = [*one.active.values()]
    base = _reduce(one, [*active, *other.active.values()], one.guardrails | other.guardrails, queries)
    made = generated(active, one.view, one.guardrails)
    return replace(one, bundle=assemble(base, active, made))


def _reduce(
    before: SettledModules, submissions: Sequence[Submission], guardrails: Iterable[str], queries: Iterable[str]
) -> Shipped:
    texts = [text for one in submissions for texts in (one.modules, one.tests) for text in texts.values()]
    texts += shipped_guardrails(guardrails).values()
    texts += generated(submissions, before.view, frozenset(guardrails)).values()
    named = {path for text in texts for path in paths_named(text)}
    return reduced(before.shipped, rego_root(), queries, named)


async def alters_behind(
    points: Collection[DataPath], before: SettledModules, applied: Iterable[Object], deleted: Collection[Key]
) -> bool:
    """Return whether objects that are applied and deleted alter the Rego behind these extension points."""
    received = await _submitted(before, applied, deleted)
    former, latter = ([*one.values()] for one in (before.active, received))
    return _content(submissions_behind(points, former)) != _content(submissions_behind(points, latter))


async def policies_by_author(
    before: SettledModules, policies: Iterable[str], applied: Iterable[Object]
) -> dict[Key, set[str]]:
    """Return which of these policies of Constraints depend on the Rego or the data of each author, active or not.

    A policy depends on its own author, and on those of the parts of `data` that its Rego names, and so on. The authors
    are those before objects are applied, and these objects.
    """
    received = await _submitted(before, applied, ())
    either = [*before.submissions.values(), *received.values()]
    owners = Parts((path, one) for one in either for path in (*one.claimed, *one.data))
    found: dict[Key, set[str]] = {}
    for policy in policies:
        waiting, seen = {path_of(policy)} - {()}, set()
        while waiting:
            for one in owners.find_overlapping(waiting.pop()):
                found.setdefault(one.author, set()).add(policy)
                if id(one) not in seen:
                    seen.add(id(one))
                    waiting |= {path for path in mentions(one) if path[:1] != ("bridge",) or path[:2] == GUARDRAILS}
    return found


async def _submitted(before: SettledModules, applied: Iterable[Object], deleted: Collection[Key]) -> _Received:
    """Return all submissions after objects were applied and deleted."""
    applied = list(applied)
    changed = {*deleted, *map(key_of, applied)}
    received = _Received({author: one for author, one in before.submissions.items() if author not in changed})
    settings = before.settings
    authors = Authors(received, settings.policy_namespaces, settings.policy_rego_version)
    _note(authors, applied)
    await authors.read_waiting()
    return received


def _content(submissions: Iterable[Submission]) -> dict[Key, tuple[Mapping[str, str], Mapping[DataPath, Any]]]:
    return {one.author: (one.modules, one.data) for one in submissions}


async def read_modules(opa: Opa, settings: Settings) -> SettledModules:
    """Return the modules and data of authors that are active in a running OPA, in the bundle that the bridge makes.

    `settings` are those of policies. Raises OpaError if the OPA's modules cannot be read.
    """
    modules, roots = await opa.modules(), await opa.bundle_roots()
    received = _Received()
    for author in {one.author for one in modules if one.author}:
        own = [one for one in modules if one.author == author]
        old = any(one.old for one in own)
        received.submit(Submission(author, "", modules={one.name: one.text for one in own}, old=old))
    for path in roots:
        # Data is a ConfigMap's, at its namespace and name; modules at, above or below it are not allowed.
        if len(path) == 2 and is_of_author(path) and not any(overlap(path, one.package) for one in modules):
            author = Key(CORE, "ConfigMap", *path)
            received.submit(Submission(author, "", data={path: await opa.get(pointer(*path))}))
    stored = await opa.get(pointer(BRIDGE_SETTINGS)) or {}
    base = shipped(rego_root(), stored.get("bounds", {}), stored.get("versions", {}))
    view = next((one.text for one in modules if one.package == VIEW), "")
    guardrails = frozenset(".".join(path) for path in roots if path[:2] == GUARDRAILS and not is_of_author(path))
    return _settled(ServedModules(base, [*received.values()], view, guardrails), settings)


ReadServed = Callable[[str], ServedModules | None]  # by the revision of a bundle; None if it is unknown


class ModulesThere:
    """The modules in a running OPA, which are read again if its bundle is another one.

    `settings` are those of policies; by default of the environment. `served` has what this process serves: OPA writes
    megabytes to list its modules.
    """

    def __init__(self, settings: Settings | None = None, served: ReadServed = lambda _: None) -> None:
        self._settings = settings or policy_settings()
        self._served = served
        self._revision: str | None = None
        self._modules: SettledModules | None = None

    async def read(self, opa: Opa) -> SettledModules:
        """Return the result of `read_modules`, without a query where the set of this revision is known."""
        revision = await opa.bundle_revision()
        if self._modules is None or revision is None or revision != self._revision:
            served = self._served(revision) if revision else None
            modules = _settled(served, self._settings) if served else await read_modules(opa, self._settings)
            self._revision, self._modules = revision, modules
        return self._modules


def _settled(served: ServedModules, settings: Settings) -> SettledModules:
    base, submissions, view, guardrails = served
    active = {one.author: one for one in submissions}
    bundle = assemble(base, submissions, generated(submissions, view, guardrails))
    return SettledModules(bundle, {}, (), active, active, base, view, guardrails, settings, keeps_last_good=True)


def is_of_author(root: DataPath) -> bool:
    """Return whether a root of the bridge's bundle is a package or a document of an author, not of the bridge."""
    if root[:2] == GUARDRAILS:
        return not shipped_guardrails([".".join(root)])
    return root[:2] in {HIERARCHY[:2], STRATEGIES} or root[0] not in {"bridge", "system", *VIEW, *WRITTEN}


async def settle_cluster(
    client: KubeClient, applied: Iterable[Object], *, patience: float, only_merging: bool = False
) -> SettledModules:
    """Return the bundle for a cluster after these objects are applied, from the types that can be read.

    Types that are not read after `patience` seconds are reported. With `only_merging` it has only the Rego on which
    effective policies may depend.
    """
    from bridge.sources.cluster import ClusterSource

    received, unread = _Received(), dict[str, Trouble]()
    settings = policy_settings()
    authors = Authors(received, settings.policy_namespaces, settings.policy_rego_version)
    source = ClusterSource(client, {CONFIG_MAP: config_maps_in(settings.policy_namespaces)})
    source.want(authors.types)
    try:
        stream = cast("AsyncGenerator[Change, None]", source.changes())
        async with asyncio.timeout(patience), aclosing(stream) as changes:
            async for change in changes:
                # Objects of an unknown type are probably known soon.
                lasting = isinstance(change, Trouble) and not change.absent and not change.unknown
                if isinstance(change, Trouble) and lasting and change.subject in authors.types:
                    unread[change.subject] = change
                else:
                    authors.take_in(change)
                if unread.keys() >= authors.unlisted.keys():
                    break
    except TimeoutError:
        unread = {name: Trouble(name, why) for name, why in authors.unlisted.items()} | unread
    if CONFIG_MAP in unread and await _are_absent(client, settings.policy_namespaces):
        del unread[CONFIG_MAP]
    await authors.read_waiting()
    if only_merging:
        received = _Received({one.author: one for one in submissions_behind(MERGING, [*received.values()])})
    guardrails = guardrails_named(applied) | await _read_used_guardrails(client)
    found = await _settle(received, guardrails, settings)
    return replace(found, unread=[*unread.values()], keeps_last_good=True)


async def _are_absent(client: KubeClient, namespaces: Iterable[str]) -> bool:
    """Return whether the cluster has none of these namespaces, as far as the user may know."""
    from bridge.kube.kube_errors import KubeError, NotFound

    for name in namespaces:
        if name == "*":
            return False
        try:
            await client.get(f"/api/v1/namespaces/{name}")
        except NotFound:
            continue
        except KubeError:
            return False
        return False
    return True


async def _read_used_guardrails(client: KubeClient) -> set[str]:
    """Return the guardrails that a cluster's Constraints name; none where these cannot be read."""
    from bridge.kube.kube_errors import KubeError

    try:
        constraints = await client.get("/apis/policybridge.io/v1alpha1/constraints")
    except KubeError:
        return set()
    return set(map(guardrail_of, constraints["items"]))


def troubles(
    found: SettledModules, position: Callable[[Key], tuple[str, int] | None] = lambda _: None
) -> list[Trouble]:
    """Return the problems of authors' objects, one for each, with the file and line of an object."""
    reported = []
    for key, problems in found.problems.items():
        place = position(key)
        name = key.name if key.namespace == CLUSTER else f"{key.namespace}/{key.name}"
        for problem in problems:
            subject = f"{place[0]}:{place[1]}" if place else str(key)
            text = f"{reporter.place(problem)}{problem.message}"
            reported.append(Trouble(subject, f"{key.kind}/{name}: {text}" if place else text, retried=False))
    return reported


def module_states(found: SettledModules, errors: Mapping[tuple[str, str], OpaError]) -> list[dict[str, Any]]:
    """Return objects that submit Rego, `{name, packages, state, message}`: a key, and the state Active or Rejected.

    `errors` are those of queries so far.
    """
    failing = failures_by_author(errors, [*found.submissions.values()])
    return [
        {
            "name": str(key),
            "packages": sorted({".".join(package) for package in found.submissions[key].claimed})
            if key in found.submissions
            else [],
            "state": "Rejected" if key in found.problems else "Active",
            "message": "; ".join(
                [
                    *(f"{reporter.place(one)}{one.message}" for one in found.problems.get(key, ())),
                    *([reporter.summary_of_failing(failing[key])] if key in failing else []),
                ]
            ),
        }
        for key in sorted({*found.submissions, *found.problems})
    ]


class _Received(dict[Key, Submission]):
    """Submissions by their authors; a `SubmissionReceiver` without verdicts."""

    def listen(self, listener: Callable[[Verdict], None]) -> None:
        pass

    def submit(self, submission: Submission) -> None:
        self[submission.author] = submission

    def remove(self, author: Key) -> None:
        self.pop(author, None)

    def listed(self) -> None:
        pass


async def _settle(
    received: _Received,
    guardrails: Iterable[str],
    settings: Settings,
    *,
    active: Mapping[Key, Submission] = MappingProxyType({}),
    base: Shipped | None = None,
    view: str = "",
) -> SettledModules:
    base = base or shipped(rego_root(), settings.policy_bounds)
    view = view or kubernetes_view(ALWAYS, plural_by_rule)
    used = frozenset(guardrails)
    executable = await asyncio.to_thread(ensure_opa)
    checker = Checker(executable.path, base.modules, allowed=settings.allowed_builtins, memory=settings.check_memory)
    judge = Judge(checker, base)
    judge.generate(view, used)
    problems = {key: tuple(claims) for key, one in received.items() if (claims := find_flaws(one))}
    joining = [one for key, one in received.items() if key not in problems and active.get(key) is not one]
    joining.sort(key=lambda one: one.age)
    selected, rejected = await select([*active.values()], joining, judge.find_faults)
    problems |= {one.author: rejected[id(one)] for one in joining if selected.get(one.author) is not one}
    problems |= {key: rejected[id(one)] for key, one in active.items() if key not in selected}
    bundle = judge.bundle([*selected.values()])
    return SettledModules(bundle, problems, (), received, selected, base, view, used, settings)


def policy_settings() -> Settings:
    """Return the settings of policies and of their checks for a command without a settings file: the environment's."""
    variables = [one.variable for one in SETTINGS.values() if one.name.startswith("policy_") or one.name in _OF_CHECKS]
    return load_settings(environ={name: os.environ[name] for name in variables if name in os.environ})
