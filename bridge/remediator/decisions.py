"""The placement decision, queried for many objects at once; and for a report, without writes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.model.keys import Key, pointer
from bridge.model.nesting import as_mapping
from bridge.model.placement_decision import Decision, DecisionError, Path, Placed, differing, read_decision
from bridge.opa.batches import batches, in_halves, within
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaTimeout

DEADLINE = 10.0  # seconds for one query of OPA; cancelling it makes OPA stop evaluating

# Objects are read in OPA, so a query has keys only. Undefined results are omitted.
_DECISIONS = """decided := {key: found |
    some key in input.keys
    [group, kind, namespace, name] := split(key, "/")
    whole := data.objects[group][kind][namespace][name]
    decision := %s with input as whole
    subject := {"apiVersion": whole.apiVersion, "kind": whole.kind, "metadata": whole.metadata}
    found := {"object": subject, "decision": decision}
}"""
_DECLARED = """declared := {key: found |
    some key in input.keys
    [group, kind, namespace, name] := split(key, "/")
    whole := data.objects[group][kind][namespace][name]
    found := {
        "digest": crypto.sha256(json.marshal(object.remove(whole, ["metadata", "status"]))),
        "labels": object.get(whole, ["metadata", "labels"], {}),
        "annotations": object.get(whole, ["metadata", "annotations"], {}),
    }
}"""
_KEYS = """keys := [[namespace, name] | data.objects[input.group][input.kind][namespace][name]]"""
_REVISIONS = """revisions := {name: object.get(bundle, ["manifest", "revision"], "") |
    some name, bundle in data.system.bundles
}"""


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on an object as in OPA; `failure` is the reason why it is unusable."""

    object: Mapping[str, Any]  # apiVersion, kind, metadata
    decision: Decision = field(default_factory=Decision)
    failure: str = ""

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Return the object's current annotations."""
        return as_mapping(self.object["metadata"].get("annotations"))

    @property
    def version(self) -> str:
        """Return the object's resourceVersion."""
        return str(self.object["metadata"].get("resourceVersion", ""))


class Deciding:
    """Queries one OPA. Methods raise OpaUnavailable, and OpaRejected if OPA rejects the query."""

    def __init__(self, opa: Opa) -> None:
        self._opa = opa

    async def revisions(self) -> dict[str, str]:
        """Return the revision of each of OPA's bundles: with another one, every decision may differ."""
        found: dict[str, str] = await self._ask(_REVISIONS, "revisions", {})
        return found

    async def keys(self, type_id: str) -> list[str]:
        """Return the objects of one type (`<group>/<Kind>`), in order."""
        group, kind = type_id.split("/")
        names = await self._ask(_KEYS, "keys", {"group": group, "kind": kind})
        return sorted(str(Key(group, kind, namespace, name)) for namespace, name in names)

    async def decide(self, path: Path, keys: Sequence[str]) -> dict[str, Decided]:
        """Return the decision at `path` on each; an object with an undefined decision, or a deleted one, is omitted.

        An object whose decision fails, or takes too long, has a `failure`.
        """
        if not keys:
            return {}
        decisions = _DECISIONS % ("data" + "".join(f"[{json.dumps(part)}]" for part in path))

        async def send(part: Sequence[str]) -> dict[str, Any]:
            found: dict[str, Any] = await self._ask(decisions, "decided", {"keys": part})
            return found

        decided: dict[str, Decided] = {}
        async for part, answer in in_halves(self._opa, [keys], send):
            if not isinstance(answer, OpaError):
                decided |= {key: _read(found) for key, found in answer.items()}
            elif whole := await self._opa.get(pointer("objects", *part[0].split("/"))):
                slow = isinstance(answer, OpaTimeout)
                why = f"the decision takes longer than {DEADLINE:g} s" if slow else answer.details
                decided[part[0]] = Decided(whole, failure=why)
        return decided

    async def declared(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the declaration of each object, to compare it later: {digest, labels, annotations}."""
        found: dict[str, dict[str, Any]] = await self._ask(_DECLARED, "declared", {"keys": list(keys)})
        return found

    async def _ask(self, query: str, name: str, query_input: Mapping[str, Any]) -> Any:
        async with within(DEADLINE):
            answers = await self._opa.evaluate(query + self._opa.of_cluster, query_input)
        return answers[0][name] if answers else {}


def _read(found: Mapping[str, Any]) -> Decided:
    try:
        return Decided(found["object"], read_decision(found["decision"]))
    except DecisionError as error:
        return Decided(found["object"], failure=str(error))


BATCH = 500  # objects a query


@dataclass(frozen=True, slots=True)
class PlacementFinding:
    """One object with a decision: its key, its current state, and the decision."""

    key: str
    decided: Decided

    @property
    def changes(self) -> dict[str, str]:
        """Return the annotations to set."""
        if self.decided.failure or self.decided.decision.errors:
            return {}
        return differing(self.decided.annotations, self.decided.decision.annotations)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return why nothing is set."""
        return (self.decided.failure,) if self.decided.failure else self.decided.decision.errors

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "object": self.key,
            "annotations": [
                {"name": name, "now": self.decided.annotations.get(name), "wanted": wanted}
                for name, wanted in sorted(self.decided.decision.annotations.items())
            ],
            "errors": list(self.decided.decision.errors),
            "warnings": list(self.decided.decision.warnings),
            "failure": self.decided.failure,
        }


async def findings(opa: Opa, kinds: Iterable[Placed], namespace: str | None = None) -> list[PlacementFinding]:
    """Return all objects of these kinds with a decision, by key; raises OpaError."""
    deciding = Deciding(opa)
    found: list[PlacementFinding] = []
    for kind in kinds:
        keys = [key for key in await deciding.keys(kind.type_id) if namespace in {None, key.split("/")[2]}]
        for batch in batches(keys, BATCH):
            decided = await deciding.decide(kind.decision, batch)
            found += [PlacementFinding(key, one) for key, one in decided.items()]
    said = [one for one in found if one.decided.decision.annotations or one.troubles or one.decided.decision.warnings]
    return sorted(said, key=lambda one: one.key)
