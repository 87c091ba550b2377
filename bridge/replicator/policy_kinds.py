"""The active policy kinds: stored in OPA for queries, and the types of their policies."""

from __future__ import annotations

import structlog

from bridge.replicator.intake import Intake
from bridge.replicator.writer import Writer

log = structlog.get_logger(__name__)


class Describing:
    """Updates `data.kinds`, and requests their policies. `types` are always requested."""

    def __init__(self, writer: Writer, intake: Intake, types: frozenset[str]) -> None:
        self._writer = writer
        self._intake = intake
        self._types = types
        self._logged: dict[str, str] = {}  # by undescribed type of policies, the last logged message

    async def describe(self) -> None:
        """Store the active policy kinds, and request their objects.

        A cluster without a CRD or PolicyKind for a shipped preset's kind does not serve it. Waits and raises like the
        methods of `Writer`.
        """
        kinds = await self._writer.ask("kinds_in_force")
        await self._writer.put_kinds(kinds)
        undescribed: dict[str, dict[str, str]] = await self._writer.ask("undescribed")
        served = {kind for kind, about in kinds.items() if about["layers"] != ["Preset"]}
        # Policies without a description have no effect, and commands show where they are attached.
        self._intake.want(self._types | served | {kind for kind, about in undescribed.items() if "crd" in about})
        self._log_undescribed(undescribed)

    def _log_undescribed(self, found: dict[str, dict[str, str]]) -> None:
        for kind, about in found.items():
            if self._logged.get(kind) != about["message"]:
                log.warning("policy kind not described", kind=kind, why=about["message"], crd=about.get("crd", ""))
        self._logged = {kind: about["message"] for kind, about in found.items()}
