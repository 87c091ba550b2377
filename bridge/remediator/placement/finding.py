"""What the placement decision says of objects as they are, for who wants to see it before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bridge.model.annotations import differing
from bridge.model.placement import Placed
from bridge.opa.client import Opa
from bridge.opa.parts import batches
from bridge.remediator.placement.deciding import Decided, Deciding

BATCH = 500  # objects a query


@dataclass(frozen=True, slots=True)
class Finding:
    """One object of which the decision says something: of its key, what it shows, and what was decided."""

    key: str
    decided: Decided

    @property
    def changes(self) -> dict[str, str]:
        """The annotations that would be set."""
        if self.decided.failure or self.decided.decision.errors:
            return {}
        return differing(self.decided.annotations, self.decided.decision.annotations)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why nothing is set."""
        return (self.decided.failure,) if self.decided.failure else self.decided.decision.errors

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
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


async def findings(opa: Opa, kinds: Iterable[Placed], namespace: str | None = None) -> list[Finding]:
    """All objects of these kinds of which their decision says anything, by key; raises OpaError."""
    deciding = Deciding(opa)
    found: list[Finding] = []
    for kind in kinds:
        keys = [key for key in await deciding.keys(kind.type_id) if namespace in {None, key.split("/")[2]}]
        for batch in batches(keys, BATCH):
            decided = await deciding.decide(kind.decision, batch)
            found += [Finding(key, one) for key, one in decided.items()]
    said = [one for one in found if one.decided.decision.annotations or one.troubles or one.decided.decision.warnings]
    return sorted(said, key=lambda one: one.key)
