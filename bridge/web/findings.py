"""What is wrong here: `/api/violations`, the result of the audit, and `/api/problems`, everything else."""

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.opa.judging import Row
from bridge.queries.analysis import doubtful, problems_beside_statuses
from bridge.remediator.audit import counts
from bridge.web.backing import PresentBacking
from bridge.web.picture_updates import Journal
from bridge.web.responses import answer

SHOWN = 2_000  # violations of a response, the most severe first
_ACTIONS = ("deny", "warn", "dryrun")
_SEVERITIES = ("high", "medium", "low", "unknown")


class Problems:
    """Responds with problems in the OPA of `backing`. Clients share one answer until the next change in `journal`."""

    def __init__(self, backing: PresentBacking, journal: Journal) -> None:
        self._backing = backing
        self._journal = journal
        self._answered: tuple[str, list[dict[str, Any]]] | None = None
        self._lock = asyncio.Lock()

    async def get(self, _: web.Request) -> web.Response:
        """Return problems in the form of the query `problems`."""
        engine = self._backing.engine()
        async with self._lock:
            revision = self._journal.name()
            if self._answered is None or self._answered[0] != revision:
                doubts = doubtful(await asyncio.to_thread(engine.doubts))
                self._answered = revision, await problems_beside_statuses(engine, doubts)
            return answer({"problems": self._answered[1]})


class Violations:
    """Responds with the violations of the audit of `backing`, unless its OPA lacks objects."""

    def __init__(self, backing: PresentBacking) -> None:
        self._backing = backing

    @property
    def revision(self) -> int:
        """Return a number that grows when the violations may differ; -1 while OPA lacks objects."""
        try:
            self._backing.opa()
        except Refused:
            return -1
        audited = self._backing.audited
        return audited.revision if audited else 0

    async def get(self, _: web.Request) -> web.Response:
        """Return the number of violations of each Constraint, and the first of them."""
        self._backing.opa()
        audited = self._backing.audited
        rows = list(audited.all_rows()) if audited else []
        return answer(await asyncio.to_thread(_document, rows))  # there may be 100,000


def _document(rows: list[Row]) -> dict[str, Any]:
    rows.sort(key=_rank)
    constraints: dict[str, dict[str, Any]] = {}
    for row in rows:
        name, action = row["constraint"], row["enforcementAction"]
        entry = {"constraint": name, "enforcementAction": action, "severity": _severity(row), "total": 0, "exempted": 0}
        constraints.setdefault(name, entry)["total" if counts(row) else "exempted"] += 1
    return {
        "total": sum(map(counts, rows)),
        "constraints": list(constraints.values()),
        "violations": [_shown(row) for row in rows[:SHOWN]],
    }


def _shown(row: Row) -> dict[str, Any]:
    """Return a violation with the node that is at fault: the target that a guardrail names, or the object."""
    fields = {name: row[name] for name in ("constraint", "enforcementAction", "object", "message")}
    target = row["details"].get("target") if isinstance(row["details"], Mapping) else None
    exempting = {} if counts(row) else {"exemption": row["exemption"]}
    return {
        **fields,
        **exempting,
        "severity": _severity(row),
        "target": target if isinstance(target, str) else row["object"],
    }


def _severity(row: Row) -> str:
    details = row["details"]
    found = details.get("severity") if isinstance(details, Mapping) else None
    return found if found in _SEVERITIES else ""


def _rank(row: Row) -> tuple[bool, int, int, str, str, str]:
    severity, action = _severity(row), row["enforcementAction"]
    return (
        not counts(row),
        _SEVERITIES.index(severity) if severity else len(_SEVERITIES),
        _ACTIONS.index(action) if action in _ACTIONS else len(_ACTIONS),
        row["constraint"],
        row["object"],
        row["message"],
    )
