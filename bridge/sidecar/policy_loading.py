"""Admins' Rego in a running bridge: who submits it, which modules OPA has, and the reports to authors."""

import asyncio
import functools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from bridge.admission.admission import PLACEMENT, RULES, Policies
from bridge.files import rego_root
from bridge.model.changes import Source, Tapped
from bridge.model.keys import CLUSTER, Key
from bridge.model.types import ALWAYS, CONSTRAINT
from bridge.opa.client import Answer, Opa
from bridge.opa.shipped import shipped, shipped_guardrails
from bridge.policy_loader.assembly import kubernetes_view
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.loader import Endpoint, Loader
from bridge.policy_loader.submissions import CONFIG_MAP, HIERARCHY, STRATEGIES, DataPath
from bridge.policy_loader.used_guardrails import UsedGuardrails
from bridge.settings.model import Settings
from bridge.sidecar.store import Store

EXTENSIONS_OF_RULES = frozenset({HIERARCHY, STRATEGIES})  # of the extension points, those that admission evaluates


class PolicyLoading:
    """The loader and its authors. `executable` is an `opa` that checks modules before OPA gets them.

    `source` replaces the store's source: if authors' objects are among the others, it delivers them here too. `run`
    does the work until it is cancelled.
    """

    def __init__(self, store: Store, opa: Opa, endpoint: Endpoint, executable: Path, settings: Settings) -> None:
        self._store = store
        found = shipped(rego_root(), settings.policy_bounds, settings.type_versions)
        checker = Checker(executable, found.modules, allowed=settings.allowed_builtins, memory=settings.check_memory)
        types = (*ALWAYS, *(one.type for one in settings.selected_types))
        view = functools.partial(kubernetes_view, types, store.plural) if settings.kubernetes_view else str
        self.loader = Loader(opa, endpoint, checker, found, view)
        self.loader.on_loss(self._report_loss)
        self.guardrails = UsedGuardrails(self.loader.use_guardrails)
        self.authors = Authors(self.loader, settings.policy_namespaces, settings.policy_rego_version)
        self.source: Source = Tapped(store.source, self.guardrails.take_in, frozenset({CONSTRAINT}))
        self._own_source = store.policies
        if self._own_source is None:
            self.source = Tapped(self.source, self.authors.take_in, self.authors.types)

    def _report_loss(self, lost: Key, causes: Sequence[Key]) -> None:
        """Report to the authors of changed or deleted objects that the rules of another one are lost."""
        for cause in causes:
            known = self.authors.known.get(cause)
            version = "v1" if cause.type_id == CONFIG_MAP else "policybridge.io/v1alpha1"
            namespace = {} if cause.namespace == CLUSTER else {"namespace": cause.namespace}
            left = {"apiVersion": version, "kind": cause.kind, "metadata": {"name": cause.name, **namespace}}
            done = "Its change" if known else "Its deletion"
            text = f"{done} takes out the rules of {lost}, which use it: what evaluates these fails until they compile"
            self._store.record(known.identity if known else left, "Warning", "BreaksPolicies", text)

    async def run(self) -> None:
        """Follow authors, load their submissions, and report the results."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.loader.run())
            tasks.create_task(self.authors.run())
            tasks.create_task(self._store.report_policies(self.authors))
            if self._own_source is not None:
                tasks.create_task(self.authors.follow(self._own_source))


def _awaited(answer: Answer) -> str:
    """Return why a denial may change soon: a shipped guardrail of a Constraint is still being loaded."""
    unloaded = answer.result.get("unloaded", ()) if isinstance(answer.result, dict) else ()
    return f"OPA is loading {', '.join(unloaded)}" if unloaded and shipped_guardrails(unloaded) else ""


class Replicated(Protocol):
    """What OPA has of the objects: `unready` is why it lacks some, or "", `policy_kinds` are the active ones."""

    @property
    def unready(self) -> str: ...  # noqa: D102
    @property
    def policy_kinds(self) -> Collection[str]: ...  # noqa: D102


class SubmittedPolicies(Policies):
    """The policies of authors.

    `document` returns what the webhook queries; None if that is in another OPA, whose policies are unknown, so each
    policy counts for it.
    """

    def __init__(
        self,
        loading: PolicyLoading,
        replicated: Replicated,
        document: Callable[[], DataPath | None] = lambda: None,
    ) -> None:
        self._authors = loading.authors
        self._loader = loading.loader
        self._guardrails = loading.guardrails
        self._replicated = replicated
        self._document = document

    def exist(self, decision: str) -> bool | None:
        """Return whether policies of a decision exist, None until the initial lists are complete."""
        if decision == RULES and self._guardrails.deny_what_is_not_judged:
            return True
        if self._authors.unlisted or (decision == RULES and not self._guardrails.listed):
            return None
        if decision == PLACEMENT and self._document() is None:
            return self._authors.policies_exist
        return bool(self.deciding(decision))

    def distrust(self, answer: Answer) -> str:
        """Return why OPA's result is ignored, empty if it is not."""
        served = self._loader.revision
        if not answer.revision or answer.revision != served:
            has = f"the modules of revision {answer.revision}" if answer.revision else "no modules"
            return f"OPA answered with {has}, where {served or 'none yet'} is served"
        return self._replicated.unready or _awaited(answer)

    def is_recent(self, answer: Answer) -> bool:
        """Return whether a result is from modules that were replaced a moment ago."""
        served = bool(answer.revision) and self._loader.was_served_recently(answer.revision)
        return served and not self._replicated.unready and not _awaited(answer)

    def kinds(self) -> Collection[str]:
        """Return the active policy kinds, none until they are known."""
        return self._replicated.policy_kinds

    def deciding(self, decision: str) -> list[Key]:
        """Return the policies that may define what a decision evaluates."""
        if decision == RULES:
            return self._authors.deciding(EXTENSIONS_OF_RULES | self._guardrails.paths)
        placement = self._document()
        if placement is None:
            return [key for key, author in self._authors.known.items() if author.policy]
        return self._authors.deciding([placement] if placement else [])

    async def dependents(self, author: Key) -> Sequence[str] | None:
        """Return the objects whose modules need those of another one, each with the reason."""
        return await self._loader.find_dependents(author)
