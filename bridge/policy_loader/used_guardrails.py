"""The guardrails that Constraints name: shipped ones are loaded only while a Constraint uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.types import GUARDRAIL_PREFIX
from bridge.policy_loader.submissions import field_of


def guardrail_of(constraint: Object) -> str:
    """Return the package of the guardrail that a Constraint names; "" if it names another policy."""
    spec = field_of(constraint, "spec")  # JSON text, if it comes from a cluster
    policy = spec.get("policy") if isinstance(spec, dict) else None
    return policy if isinstance(policy, str) and policy.startswith(GUARDRAIL_PREFIX) else ""


class _Use(NamedTuple):
    package: str  # "" without a guardrail
    fails_closed: bool


def _use_of(constraint: Object) -> _Use:
    package, spec = guardrail_of(constraint), field_of(constraint, "spec")  # a dict where it names a guardrail
    return _Use(package, bool(package) and spec.get("failurePolicy") == "Fail")


class UsedGuardrails:
    """Follows Constraints; calls `changed` with the packages of their guardrails when these differ."""

    def __init__(self, changed: Callable[[frozenset[str]], None]) -> None:
        self._changed = changed
        self._by_constraint: dict[Key, _Use] = {}
        self._unlisted: set[Key] = set()  # those that a list in progress has not delivered yet

    def _packages(self) -> frozenset[str]:
        return frozenset(use.package for use in self._by_constraint.values() if use.package)

    @property
    def deny_what_is_not_judged(self) -> bool:
        """Return whether a Constraint with a guardrail has the failurePolicy `Fail`."""
        return any(use.fails_closed for use in self._by_constraint.values())

    def note(self, change: Change) -> None:
        """Process one change of Constraints."""
        before = self._packages()
        match change:
            case Listing():
                self._unlisted = set(self._by_constraint)
            case Upserted(_, objects):
                found = {key_of(obj): _use_of(obj) for obj in objects}
                self._by_constraint |= found
                self._unlisted -= found.keys()
            case Listed():
                for key in self._unlisted:  # deleted while no watch was open
                    self._by_constraint.pop(key, None)
                self._unlisted = set()
            case Deleted(_, key):
                self._by_constraint.pop(key, None)
        if (packages := self._packages()) != before:
            self._changed(packages)
