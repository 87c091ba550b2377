"""The policy kinds in force: stored in OPA, so that queries know them, and followed by their policies."""

from __future__ import annotations

import structlog

from bridge.replicator.intake import Intake
from bridge.replicator.writer import Writer

POLICY_KIND = "policybridge.io/PolicyKind"
CRD = "apiextensions.k8s.io/CustomResourceDefinition"
DESCRIBING = {POLICY_KIND, CRD}  # a change of one of these may change the policy kinds in force

log = structlog.get_logger(__name__)


class Describing:
    """Keeps `data.kinds`, and has their policies delivered. `types` are delivered in any case."""

    def __init__(self, writer: Writer, intake: Intake, types: frozenset[str]) -> None:
        self._writer = writer
        self._intake = intake
        self._types = types
        self._undiscovered: dict[str, str] = {}  # as was told last: CRDs with the policy label, and what is wrong

    async def describe(self) -> None:
        """Store the policy kinds in force, and have their objects delivered.

        A cluster that no CRD and no PolicyKind tells of a shipped preset's kind does not serve it. Waits and raises as
        the methods of `Writer`.
        """
        kinds = await self._writer.ask("kinds_in_force")
        await self._writer.put_kinds(kinds)
        self._intake.want(self._types | {kind for kind, about in kinds.items() if about["layers"] != ["Preset"]})
        await self._tell_undiscovered()

    async def _tell_undiscovered(self) -> None:
        found: dict[str, str] = await self._writer.ask("discovery_problems")
        for crd, why in found.items():
            if self._undiscovered.get(crd) != why:
                log.warning("a CRD with the policy label makes no policy kind", crd=crd, why=why)
        self._undiscovered = found
