"""Reports and Events about objects with violations: what the audit found, for those who can change the objects.

An object with violations has one report, in its namespace and owned by it, with a result for each Constraint: the most
severe violation, and the number of all. Reports are written by the bridge that writes statuses, within the same budget,
and only if they differ. Without CRDs for reports there are only Events, one for each Constraint that an object begins
or ceases to violate.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from bridge.derived.loop import Derived, Loop
from bridge.kube.kube_errors import KubeError
from bridge.kube.report_client import CONTENT, LABEL, OBJECT, Form, ReportClient
from bridge.model.changes import Notice, Object
from bridge.model.keys import CLUSTER, Key, parse_key, pointer
from bridge.model.observability import Record
from bridge.model.types import CRD
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.judging import Row
from bridge.remediator.audit import Audited
from bridge.remediator.write_loop import Planned, StatusSink, WriteLoop
from bridge.work import Budget, Turns

log = structlog.get_logger(__name__)

MOST_REPORTS = 1000  # of a cluster, the most severe first: nobody reads more, and API servers keep all in memory
MOST_RESULTS = 50  # of a report: Constraints
_LONGEST = 1024  # characters of a message: 50 results must fit into an object
MOST_POLICIES = 5  # that a result names
RELISTED = 300.0  # seconds after which reports are listed again: others may delete them
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_SOURCE = "policy-bridge"


class ViolationReports(WriteLoop[str], Derived[str]):
    """Follows the audit; its items are keys of objects. `client` is None for a folder, which has no reports.

    The loop lists the reports when this bridge begins to write, after changes of CRDs, and once a period.
    """

    name = "violation reports"
    asks = False
    types = frozenset({CRD})
    period = RELISTED

    def __init__(
        self,
        loop: Loop,
        audited: Audited,
        opa: Opa,
        sink: StatusSink,
        budget: Budget,
        record: Record,
        client: ReportClient | None,
    ) -> None:
        super().__init__(loop, sink, budget)
        self._audited = audited
        self._opa = opa
        self._record = record
        self._client = client
        self._rows: dict[str, list[Row]] = {}  # of the last whole audit, by object
        self._former: dict[str, list[Row]] = {}  # before changes of which Events are due
        self._chosen: set[str] = set()  # objects that have a report
        self._form: Form | None = None
        self._stored: dict[str, str] = {}  # the content of written reports, by object
        self._begun = False  # whether there was a whole audit

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write())
            if self._client is not None:
                tasks.create_task(self._follow_while_writing(self))

    def notice(self, change: Notice) -> None:  # noqa: ARG002 - any CRD may be of reports
        """Look for CRDs of reports again after a change of CRDs."""
        self._loop.renew(self)

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """List the reports; yield the objects that have one, or should."""
        if self._client is not None:
            await self._list(self._client)
        yield {*self._stored, *self._chosen}

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Return all of them."""
        return [stale.take(len(stale))]

    async def compute(self, keys: Sequence[str]) -> None:
        """Let reports be written that differ."""
        self._queue.add(keys)

    def follow(self, changed: Collection[str] | None) -> None:
        """Process a whole audit, in which these objects or their violations may have changed (None: any)."""
        begins = not self._begun
        for key in self._rows.keys() | self._audited.objects() if changed is None else changed:
            before, now = self._rows.get(key, []), self._audited.rows_of(key)
            if before != now:
                if not begins and self._sink.may_write() and len(self._former) < MOST_REPORTS:
                    self._former.setdefault(key, before)
                self._rows.pop(key, None)
                if now:
                    self._rows[key] = now
                self._queue.add([key])
            elif key in self._chosen:  # created again, it has another uid, and the API server deletes its report
                self._queue.add([key])
        self._begun = True
        self._choose()

    def _choose(self) -> None:
        """Choose the objects that have a report; the most severe violations first."""
        chosen = set(self._rows)
        if len(chosen) > MOST_REPORTS:
            ranked = sorted(chosen, key=lambda key: (min(map(_rank, self._rows[key])), key))
            chosen = set(ranked[:MOST_REPORTS])
            if len(self._chosen) < MOST_REPORTS:
                log.warning("violation reports limited", objects=len(ranked), reports=MOST_REPORTS)
        self._queue.add(chosen ^ self._chosen)
        self._chosen = chosen

    async def _list(self, client: ReportClient) -> None:
        """Read the reports of the cluster; delete those of another form."""
        try:
            forms = await client.served_forms()
            self._form = forms[0] if forms else None
            stored = await client.stored(forms[0]) if forms else []
            self._stored = {report.object: report.content for report in stored}
            for report in [report for form in forms[1:] for report in await client.stored(form)]:
                await self._budget.spend()
                await client.delete(report.path)
        except KubeError as error:
            log.warning("violation reports not written", why=str(error))

    async def _plan(self, batch: Sequence[str]) -> dict[str, Planned | None]:
        planned: dict[str, Planned | None] = {}
        for name in batch:
            if name not in self._former and (self._form is None or name not in self._chosen | self._stored.keys()):
                continue
            key = parse_key(name)
            obj = await self._opa.get(pointer("objects", key.group, key.kind, key.namespace, key.name))
            before, rows = self._former.pop(name, None), self._rows.get(name, [])
            if before is not None and obj is not None:
                self._record_events(obj, before, rows)
            if self._form is None:
                continue
            body = report_of(self._form, key, obj, rows) if obj and name in self._chosen else {}
            content = body["metadata"]["annotations"][CONTENT] if body else ""
            if content != self._stored.get(name, ""):
                planned[name] = Planned(name, body, content)
        return planned

    def _set_aside(self) -> None:
        self._former.clear()

    def _record_events(self, obj: Object, before: Iterable[Row], now: Iterable[Row]) -> None:
        """Record an Event for each Constraint that the object begins or ceases to violate."""
        earlier, current = by_constraint(before), by_constraint(now)
        for name in sorted(current.keys() - earlier.keys()):
            self._record(obj, "Warning", "PolicyViolation", f"[{name}] {_message(current[name])}")
        for name in sorted(earlier.keys() - current.keys()):
            self._record(obj, "Normal", "PolicyViolationResolved", f"[{name}] is no longer violated")

    async def _patch(self, item: str, planned: Planned) -> bool:
        if self._client is None or self._form is None:
            return False
        key = parse_key(item)
        path = self._form.kind_in(key.namespace).object_path(key.namespace, report_name(key))
        try:
            if planned.patch:
                await self._client.apply(path, dict(planned.patch))
            else:
                await self._client.delete(path)
        except KubeError as error:
            self._queue.results["refused"] += 1
            self._queue.failed(item)
            log.warning("violation report not written", object=item, why=str(error))
            return False
        self._stored.pop(item, None)
        if planned.patch:
            self._stored[item] = planned.version
        self._queue.results["written"] += 1
        self._queue.succeeded(item)
        return True

    @property
    def _is_whole(self) -> bool:
        return self._begun

    def _log_delay(self, error: OpaError) -> None:
        log.info("violation reports waiting for OPA", why=str(error))

    def _has_work(self) -> bool:
        return False


def _rank(row: Row) -> int:
    severity = row["details"].get("severity")
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)


def by_constraint(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the violations of one object by Constraint, the most severe first in both."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (_rank(row), row["constraint"], row["message"])):
        found.setdefault(row["constraint"], []).append(row)
    return found


def _message(rows: Sequence[Row]) -> str:
    more = f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
    return f"{rows[0]['message'][:_LONGEST]}{more}"


def _policies_of(row: Row) -> list[str]:
    """Return the policies at fault. The details of admins' policies may be anything."""
    found = row["details"].get("policies")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def report_name(key: Key) -> str:
    """Return the name of the report about an object."""
    return f"policy-bridge-{hashlib.sha256(str(key).encode()).hexdigest()[:20]}"


def report_of(form: Form, key: Key, obj: Object, rows: Iterable[Row]) -> dict[str, Any]:
    """Return the report about an object with these violations."""
    resource = form.kind_in(key.namespace)
    found = by_constraint(rows)
    results = [_make_result(name, of_constraint) for name, of_constraint in list(found.items())[:MOST_RESULTS]]
    metadata = obj["metadata"]
    identity = {"apiVersion": obj["apiVersion"], "kind": key.kind, "name": key.name, "uid": metadata.get("uid", "")}
    namespace = {} if key.namespace == CLUSTER else {"namespace": key.namespace}
    outcomes = [_outcome(of_constraint[0]) for of_constraint in found.values()]
    report: dict[str, Any] = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": report_name(key), **namespace, "labels": dict([LABEL]), "ownerReferences": [identity]},
        "scope": identity | namespace,
        "summary": {name: outcomes.count(name) for name in ("pass", "fail", "warn", "error", "skip")},
        "results": results,
    }
    if form.group == "openreports.io":
        report["source"] = _SOURCE
    content = hashlib.sha256(msgspec.json.encode(report, order="deterministic")).hexdigest()[:20]
    report["metadata"]["annotations"] = {OBJECT: str(key), CONTENT: content}
    return report


def _make_result(constraint: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the result of one Constraint: its most severe violation, and the number of all."""
    first, details = rows[0], rows[0]["details"]
    policies = sorted({policy for row in rows for policy in _policies_of(row)})
    more = [f"and {len(policies) - MOST_POLICIES:,} more"] if len(policies) > MOST_POLICIES else []
    properties: Mapping[str, str] = {
        "enforcementAction": first["enforcementAction"],
        "violations": str(len(rows)),
        "target": str(details.get("target", ""))[:_LONGEST],
        "field": str(details.get("field", ""))[:_LONGEST],
        "policies": ", ".join([*policies[:MOST_POLICIES], *more]),
    }
    severity = details.get("severity")
    return {
        "source": _SOURCE,
        "policy": constraint,
        "result": _outcome(first),
        "scored": first["enforcementAction"] == "deny",
        "message": _message(rows),
        **({"severity": severity} if severity in _SEVERITIES else {}),
        "properties": {name: value for name, value in properties.items() if value},
    }


def _outcome(row: Row) -> str:
    if row["details"].get("severity") == "unknown":
        return "error"
    return "fail" if row["enforcementAction"] == "deny" else "warn"
