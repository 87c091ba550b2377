"""The Rego of admins for a command: one set of a folder or cluster, and what is wrong with the others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from bridge.files import rego_root
from bridge.model.changes import Change, Object, Trouble, Upserted
from bridge.model.keys import CLUSTER, Key, key_of
from bridge.model.types import ALWAYS, CONSTRAINT, plural_by_rule
from bridge.offline.engine import PATIENCE
from bridge.opa.bundle import Bundle
from bridge.opa.errors import OpaError
from bridge.opa.executable import ensure_opa
from bridge.opa.shipped import shipped
from bridge.policy_loader import reports
from bridge.policy_loader.assembly import kubernetes_view
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.judgement import Judge, failures_by_author, select
from bridge.policy_loader.submissions import (
    CONFIG_MAP,
    ModuleProblem,
    Submission,
    Verdict,
    config_maps_in,
    find_flaws,
    packages,
)
from bridge.policy_loader.used_guardrails import guardrail_of
from bridge.settings.loading import load_settings
from bridge.settings.model import SETTINGS, Settings

if TYPE_CHECKING:
    from bridge.kube.client import KubeClient


@dataclass(frozen=True, slots=True)
class SettledModules:
    """The bundle with everything that compiles together, and the problems of omitted objects.

    `submissions` are all read ones, accepted or not. `unread` has why objects of a type could not be read.
    """

    bundle: Bundle
    problems: Mapping[Key, tuple[ModuleProblem, ...]]
    unread: Sequence[Trouble]
    submissions: Mapping[Key, Submission]


async def settle_manifests(objects: Iterable[Object]) -> SettledModules:
    """Return the bundle for a folder's objects; of two with one key the last counts.

    Raises ToolError without an `opa`, CheckError for a broken one.
    """
    received = _Received()
    authors = Authors(received, policy_settings().policy_namespaces)
    return await _settle(authors, received, (), _note(authors, objects))


def _note(authors: Authors, objects: Iterable[Object]) -> set[str]:
    """Note what authors have, and return the guardrails that Constraints name."""
    guardrails = set()
    for obj in objects:
        authors.note(Upserted(key_of(obj).type_id, (obj,)))
        if key_of(obj).type_id == CONSTRAINT:
            guardrails.add(guardrail_of(obj))
    return guardrails


async def settle_cluster(client: KubeClient, applied: Iterable[Object]) -> SettledModules:
    """Return the bundle for a cluster, from the types that can be read, after these objects are applied."""
    from bridge.sources.cluster import ClusterSource

    received, unread = _Received(), dict[str, Trouble]()
    authors = Authors(received, policy_settings().policy_namespaces)
    source = ClusterSource(client, {CONFIG_MAP: config_maps_in(policy_settings().policy_namespaces)})
    source.want(authors.types)
    try:
        stream = cast("AsyncGenerator[Change, None]", source.changes())
        async with asyncio.timeout(PATIENCE), aclosing(stream) as changes:
            async for change in changes:
                # Objects of an unknown type are probably known soon.
                lasting = isinstance(change, Trouble) and not change.absent and not change.unknown
                if isinstance(change, Trouble) and lasting and change.subject in authors.types:
                    unread[change.subject] = change
                else:
                    authors.note(change)
                if unread.keys() >= authors.unlisted.keys():
                    break
    except TimeoutError:
        unread = {name: Trouble(name, why) for name, why in authors.unlisted.items()} | unread
    guardrails = _note(authors, applied) | await _read_used_guardrails(client)
    return await _settle(authors, received, [*unread.values()], guardrails)


async def _read_used_guardrails(client: KubeClient) -> set[str]:
    """Return the guardrails that a cluster's Constraints name; none where these cannot be read."""
    from bridge.kube.errors import KubeError

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
            text = f"{reports.place(problem)}{problem.message}"
            reported.append(Trouble(subject, f"{key.kind} {name}: {text}" if place else text, retried=False))
    return reported


def module_states(found: SettledModules, errors: Mapping[tuple[str, str], OpaError]) -> list[dict[str, Any]]:
    """Return objects that submit Rego, `{name, packages, state, message}`: a key, and the state Active or Rejected.

    `errors` are those of queries so far.
    """
    failing = failures_by_author(errors, [*found.submissions.values()])
    return [
        {
            "name": str(key),
            "packages": sorted({".".join(package) for package in packages(found.submissions[key]).values()})
            if key in found.submissions
            else [],
            "state": "Rejected" if key in found.problems else "Active",
            "message": "; ".join(
                [
                    *(f"{reports.place(one)}{one.message}" for one in found.problems.get(key, ())),
                    *([reports.summary_of_failing(failing[key])] if key in failing else []),
                ]
            ),
        }
        for key in sorted({*found.submissions, *found.problems})
    ]


class _Received(dict[Key, Submission]):
    """Submissions by their authors; a `SubmissionReceiver` without verdicts."""

    def listen(self, listener: Callable[[Verdict], None]) -> None:
        pass

    def put(self, submission: Submission) -> None:
        self[submission.author] = submission

    def remove(self, author: Key) -> None:
        self.pop(author, None)

    def listed(self) -> None:
        pass


async def _settle(
    authors: Authors, received: _Received, unread: Sequence[Trouble], guardrails: Iterable[str]
) -> SettledModules:
    await authors.read_waiting()
    found = shipped(rego_root(), policy_settings().policy_bounds)
    executable = await asyncio.to_thread(ensure_opa)
    view = kubernetes_view(ALWAYS, plural_by_rule)
    judge = Judge(Checker(executable.path, found.modules), found)
    judge.generate(view, frozenset(guardrails))
    problems = {key: tuple(claims) for key, one in received.items() if (claims := find_flaws(one))}
    sound = sorted((one for key, one in received.items() if key not in problems), key=lambda one: one.age)
    selected, rejected = await select((), sound, judge.find_faults)
    problems |= {one.author: rejected[id(one)] for one in sound if one.author not in selected}
    return SettledModules(judge.bundle([*selected.values()]), problems, unread, received)


def policy_settings() -> Settings:
    """Return the settings of policies for a command without a settings file: from the environment."""
    variables = [one.variable for one in SETTINGS.values() if one.name.startswith("policy_")]
    return load_settings(environ={name: os.environ[name] for name in variables if name in os.environ})
