"""The guardrails that Constraints name: shipped ones are loaded only while a Constraint uses them."""

from collections.abc import Callable

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.nesting import parse_field
from bridge.model.types import GUARDRAIL_PREFIX
from bridge.policy_loader.submissions import DataPath, path_of


def policy_of(constraint: Object) -> str:
    """Return the package that a Constraint names; "" if it names none."""
    spec = parse_field(constraint.get("spec"))  # JSON text, if it comes from a cluster
    policy = spec.get("policy") if isinstance(spec, dict) else None
    return policy if isinstance(policy, str) else ""


def guardrail_of(constraint: Object) -> str:
    """Return the package of the guardrail that a Constraint names; "" if it names another policy."""
    policy = policy_of(constraint)
    return policy if policy.startswith(GUARDRAIL_PREFIX) else ""


def _fails_closed(constraint: Object) -> bool:
    spec = parse_field(constraint["spec"]) if guardrail_of(constraint) else {}
    denies = spec.get("enforcementAction", "deny") == "deny"
    return bool(spec) and denies and spec.get("failurePolicy", "Fail") != "Ignore"


class UsedGuardrails:
    """Follows Constraints; calls `changed` with the packages of their guardrails when these differ.

    `policies` are the packages that Constraints name, and `paths` their places in `data`: those of all Constraints
    once they are `listed`.
    """

    def __init__(self, changed: Callable[[frozenset[str]], None]) -> None:
        self._changed = changed
        # By Constraint, its guardrail, whether that fails closed, and its policy.
        self._used: dict[Key, tuple[str, bool, str]] = {}
        self._unlisted: set[Key] = set()  # those that a list in progress has not delivered yet
        self.listed = False
        self.policies: frozenset[str] = frozenset()
        self.paths: frozenset[DataPath] = frozenset()
        self.deny_what_is_not_judged = False  # whether one with a guardrail denies, and its failurePolicy isn't Ignore

    def take_in(self, change: Change) -> None:
        """Process one change of Constraints."""
        before = self._packages()
        match change:
            case Listing():
                self._unlisted = set(self._used)
            case Upserted(_, objects):
                found = {key_of(obj): (guardrail_of(obj), _fails_closed(obj), policy_of(obj)) for obj in objects}
                self._used |= found
                self._unlisted -= found.keys()
            case Listed():
                for key in self._unlisted:  # deleted while no watch was open
                    self._used.pop(key, None)
                self._unlisted = set()
                self.listed = True
            case Trouble(absent=True):  # its CRD is not installed
                self.listed = True
            case Deleted(_, key):
                self._used.pop(key, None)
        self._summarize()
        if (packages := self._packages()) != before:
            self._changed(packages)

    def _summarize(self) -> None:
        """Keep what each request to the webhook asks for."""
        self.deny_what_is_not_judged = any(closed for _, closed, _ in self._used.values())
        policies = frozenset(policy for *_, policy in self._used.values() if policy)
        if policies != self.policies:
            self.policies, self.paths = policies, frozenset(map(path_of, policies)) - {()}

    def _packages(self) -> frozenset[str]:
        return frozenset(package for package, *_ in self._used.values() if package)
