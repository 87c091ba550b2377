"""Scenarios as data: the objects in `objects.yaml`, and the outcomes in `expected.yaml`."""

import copy
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from bridge.files import rego_root
from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.sources.manifests import ManifestSource
from bridge.sources.yaml import Document, read_documents
from hack.tools import quick_yaml

HERE = Path(__file__).parent
POLICY_NAMESPACE = "opa-policies"
POLICY_LABEL = "gateway.networking.k8s.io/policy"
_PRESETS = [quick_yaml.load(file.read_text())["spec"] for file in (rego_root() / "bridge/kinds/presets").glob("*.yaml")]
PRESETS = {f"{spec['group']}/{spec['kind']}" for spec in _PRESETS}
_SERVED = {"", "core", "gateway.networking.k8s.io"}  # groups of which an API server of the tests has the kinds
_TARGETS_OF_VENDORS = {
    f"{target['group']}/{target['kind']}"
    for spec in _PRESETS
    for target in spec.get("targets", ())
    if target["group"] not in _SERVED
}


@dataclass(frozen=True)
class Case:
    """One scenario. No other scenario uses its namespaces, class and policy group, so one cluster can have them all."""

    name: str
    folder: Path

    @property
    def manifest(self) -> Path:
        """The file with its objects."""
        return self.folder / "objects.yaml"

    @cached_property
    def modules(self) -> list[Path]:
        """The Rego modules of an admin that the scenario needs."""
        return sorted(self.folder.glob("*.rego"))

    @cached_property
    def constrained(self) -> bool:
        """Whether it is about Constraints; then its modules are their policies."""
        return any(key.type_id == "policybridge.io/Constraint" for key in self.keys)

    @cached_property
    def extended(self) -> bool:
        """Whether its modules are extensions of the hierarchy, or strategies."""
        return bool(self.modules) and not self.constrained

    @cached_property
    def objects(self) -> list[Object]:
        """Its objects, with the API server's defaults."""
        return ManifestSource([self.manifest], follow=False).load()

    def raw(self) -> list[Object]:
        """Return a copy of its objects as written."""
        return copy.deepcopy(self._raw)

    @cached_property
    def outcomes(self) -> list[dict[str, Any]]:
        """The expected outcomes, each a sentence and a check."""
        found: list[dict[str, Any]] = self._expected["outcomes"]
        return found

    @property
    def title(self) -> str:
        """The rule that it shows, in a sentence."""
        return str(self._expected["title"])

    @cached_property
    def sources(self) -> set[str]:
        """The namespaces whose requests have expected outcomes."""
        told = [outcome.get("effective") or outcome.get("unreached") for outcome in self.outcomes]
        return {one["sourceNamespace"] for one in told if isinstance(one, dict) and "sourceNamespace" in one}

    @cached_property
    def explained(self) -> set[str]:
        """The keys of the targets with expected rejections (`uncounted`)."""
        return {self.key(outcome["uncounted"]["target"]) for outcome in self.outcomes if "uncounted" in outcome}

    @cached_property
    def trees(self) -> set[str]:
        """The keys of the roots with an expected `tree`."""
        return {self.key(outcome["tree"]["root"]) for outcome in self.outcomes if "tree" in outcome}

    @cached_property
    def reported(self) -> set[str]:
        """The keys of the policies with expected problems."""
        return {self.policies[outcome["problem"]["policy"]] for outcome in self.outcomes if "problem" in outcome}

    @cached_property
    def refused(self) -> set[str]:
        """The names of its PolicyKinds that must not become active."""
        return {outcome["refused"]["policyKind"] for outcome in self.outcomes if "refused" in outcome}

    @cached_property
    def senseless(self) -> set[str]:
        """The names of its invalid Constraints, which an API server rejects."""
        told = [outcome["constraint"] for outcome in self.outcomes if "constraint" in outcome]
        return {one["name"] for one in told if one["Accepted"] == "False/Invalid"}

    @cached_property
    def requests(self) -> list[str]:
        """The keys of the objects whose creation `admission` decides on."""
        return sorted({self.key(outcome["admission"]["object"]) for outcome in self.outcomes if "admission" in outcome})

    @cached_property
    def policy_kinds(self) -> set[str]:
        """The policy kinds that its PolicyKinds and labelled CRDs describe, and the presets that it uses."""
        described = [obj["spec"] for obj in self._raw if obj["kind"] == "PolicyKind"]
        kinds = {f"{spec['group']}/{spec['kind']}" for spec in described}
        for obj in self._raw:
            if obj["kind"] == "CustomResourceDefinition" and POLICY_LABEL in obj["metadata"].get("labels", {}):
                kinds.add(f"{obj['spec']['group']}/{obj['spec']['names']['kind']}")
        return kinds | (PRESETS & {key.type_id for key in self.keys})

    @cached_property
    def targeted_kinds(self) -> set[str]:
        """The kinds of its objects, of its own groups or of vendors, that PolicyKinds or presets name as targets."""
        targets = [one for obj in self._raw if obj["kind"] == "PolicyKind" for one in obj["spec"].get("targets") or ()]
        named = {f"{one.get('group')}/{one.get('kind')}" for one in targets if isinstance(one, dict)}
        own = {name for name in named if name.split("/")[0].endswith(".example.com")}
        return (own | _TARGETS_OF_VENDORS) & {key.type_id for key in self.keys}

    def owns(self, entry: dict[str, Any]) -> bool:
        """Whether an effective policy is of its kinds and on its objects. Scenarios share presets."""
        mine = entry["policyKind"] in self.policy_kinds
        return mine and (entry["policyKind"] not in PRESETS or entry["target"].partition("#")[0] in self._held)

    @cached_property
    def policies(self) -> dict[str, str]:
        """The keys of its policies by their names, and by `<Kind>/<name>` for where two kinds share one."""
        keys = [key for key in self.keys if key.type_id in self.policy_kinds]
        return {name: str(key) for key in keys for name in (key.name, f"{key.kind}/{key.name}")}

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The keys of its objects."""
        return tuple(key_of(obj) for obj in self.objects)

    def key(self, text: str) -> str:
        """Return the key for `<Kind>/<name>` or `<Kind>/<namespace>/<name>`, with or without a section or role.

        A full key means itself.
        """
        whole = re.split("[#@]", text)[0]
        parts = whole.split("/")
        if len(parts) == 4:
            return text
        named = {
            str(key)
            for key in self.keys
            if (key.kind, key.name) == (parts[0], parts[-1]) and parts[1:-1] in ([], [key.namespace])
        }
        assert len(named) == 1, f"{self.name}: {text} means {sorted(named) or 'nothing'}"
        return named.pop() + text.removeprefix(whole)

    def kind(self, text: str = "") -> str:
        """Return the policy kind with this name; without a name, the only policy kind."""
        named = {kind for kind in self.policy_kinds if text in {"", kind, kind.partition("/")[2]}}
        assert len(named) == 1, f"{self.name}: {text or 'the policy kind'} is one of {sorted(self.policy_kinds)}"
        return named.pop()

    @cached_property
    def _held(self) -> set[str]:
        return {str(key) for key in self.keys}

    @cached_property
    def _expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = quick_yaml.load((self.folder / "expected.yaml").read_text())
        return expected

    @cached_property
    def _raw(self) -> list[Object]:
        return [
            document.value for document in read_documents(self.manifest.read_text()) if isinstance(document, Document)
        ]


@cache
def all_cases() -> list[Case]:
    """Return every scenario, sorted by name."""
    return [Case(folder.parent.name, folder.parent) for folder in sorted(HERE.glob("*/objects.yaml"))]


def policy_maps(cases: Iterable[Case]) -> list[Object]:
    """Return the Rego that scenarios need, in one ConfigMap for each scenario."""
    labels = {"openpolicyagent.org/policy": "rego"}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": case.name.replace("_", "-"), "namespace": POLICY_NAMESPACE, "labels": labels},
            "data": {module.name: module.read_text() for module in case.modules},
        }
        for case in cases
        if case.modules
    ]
