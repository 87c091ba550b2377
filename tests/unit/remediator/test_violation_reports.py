"""Which reports and Events follow from an audit, without an API server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge.derived.loop import Loop
from bridge.kube.kube_errors import Forbidden
from bridge.kube.report_client import FORMS, Form, StoredReport
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.model.types import CRD
from bridge.opa.client import Opa
from bridge.remediator import violation_reports
from bridge.remediator.audit import Audited
from bridge.remediator.violation_reports import ViolationReports, report_of
from bridge.remediator.write_loop import MemorySink
from bridge.work import Budget
from tests.working import working

pytestmark = pytest.mark.fake_time

OPEN, OLD = FORMS
CART = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
PAY = "gateway.networking.k8s.io/HTTPRoute/shop/pay"


def row(constraint: str, message: str, severity: str = "high", action: str = "deny", **details: Any) -> dict[str, Any]:
    """A violation."""
    about = {"severity": severity, **details}
    return {"constraint": constraint, "message": message, "enforcementAction": action, "details": about}


class Found(Audited):
    """An audit that found these violations, by object."""

    def __init__(self) -> None:
        super().__init__(Opa("http://localhost"))
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def objects(self) -> set[str]:
        """The objects with violations."""
        return set(self.rows)

    def rows_of(self, key: str) -> list[dict[str, Any]]:
        """The violations of one."""
        return self.rows.get(key, [])


class Objects(Opa):
    """An OPA that has every object."""

    def __init__(self) -> None:
        super().__init__("http://localhost")

    async def get(self, path: str) -> Any:
        """The object."""
        name = path.rpartition("/")[2]
        metadata = {"namespace": "shop", "name": name, "uid": f"uid-{name}"}
        return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata}


class Server:
    """The reports of an API server that serves `forms`."""

    def __init__(self, *forms: Form) -> None:
        self.forms = list(forms)
        self.reports: dict[str, Any] = {}
        self.writes = self.listed = 0
        self.forbidden = False

    async def served_forms(self) -> list[Form]:
        """As given."""
        self.listed += 1
        return self.forms

    async def stored(self, form: Form) -> list[StoredReport]:
        """The written ones."""
        group = f"/apis/{form.group}/"
        return [
            StoredReport(path, *one["metadata"]["annotations"].values())
            for path, one in self.reports.items()
            if path.startswith(group)
        ]

    async def apply(self, path: str, report: Mapping[str, Any]) -> None:
        """Keep it."""
        if self.forbidden:
            raise Forbidden(403, "Forbidden", "no")
        self.writes += 1
        self.reports[path] = report

    async def delete(self, path: str) -> None:
        """Drop it."""
        self.writes += 1
        del self.reports[path]

    @property
    def about(self) -> list[str]:
        """The objects that have a report."""
        return sorted(one["scope"]["name"] for one in self.reports.values())


Told = list[tuple[str, str, str]]


@asynccontextmanager
async def reporting(
    server: Server, sink: MemorySink | None = None
) -> AsyncIterator[tuple[ViolationReports, Found, Told]]:
    """Reports that follow an audit, and the Events of them."""
    audited, told = Found(), Told()

    def record(regarding: Mapping[str, Any], event_type: str, reason: str, message: str) -> None:
        told.append((regarding["metadata"]["name"], reason, message))

    opa, budget = Objects(), Budget(1000, 1000)
    loop = Loop(opa)
    reports = ViolationReports(loop, audited, opa, sink or MemorySink(), budget, record, server)  # type: ignore[arg-type]
    async with working(loop.run, reports.run):
        loop.take_in(Notice(refilled=True))
        await asyncio.sleep(1)
        yield reports, audited, told


async def test_a_report_follows_the_violations_of_its_object() -> None:
    server = Server(OPEN, OLD)
    async with reporting(server) as (reports, audited, told):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(1)
        assert (server.about, told) == (["cart"], [])
        audited.rows = {PAY: [row("b", "two"), row("b", "three")]}
        reports.follow({CART, PAY})
        await asyncio.sleep(1)
        assert server.about == ["pay"]
        assert sorted(told) == [
            ("cart", "PolicyViolationResolved", "[a] is no longer violated"),
            ("pay", "PolicyViolation", "[b] three (and 1 more)"),
        ]
        reports.follow({PAY})
        reports.follow(None)
        await asyncio.sleep(1000)
        assert server.writes == 3


async def test_reports_of_an_earlier_bridge_are_compared() -> None:
    server = Server(OPEN)
    object_ = await Objects().get("/cart")
    body = report_of(OPEN, parse_key(CART), object_, [row("a", "one")])
    other = report_of(OPEN, parse_key(PAY), object_, [row("a", "one")])
    for one in (body, other):
        server.reports[OPEN.namespaced.object_path("shop", one["metadata"]["name"])] = one
    async with reporting(server) as (reports, audited, told):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(1)
        assert (server.about, server.writes, told) == (["cart"], 1, [])


async def test_reports_of_another_form_are_deleted() -> None:
    server = Server(OPEN, OLD)
    object_ = await Objects().get("/cart")
    body = report_of(OLD, parse_key(CART), object_, [row("a", "one")])
    server.reports[OLD.namespaced.object_path("shop", body["metadata"]["name"])] = body
    async with reporting(server) as (reports, audited, _):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(1)
        assert [path.split("/")[2] for path in server.reports] == [OPEN.group]


async def test_without_crds_there_are_only_events() -> None:
    server = Server()
    async with reporting(server) as (reports, audited, told):
        reports.follow(None)
        audited.rows = {CART: [row("a", "one")]}
        reports.follow({CART})
        await asyncio.sleep(1)
        assert (server.reports, told) == ({}, [("cart", "PolicyViolation", "[a] one")])


async def test_a_forbidden_report_is_written_when_it_is_allowed() -> None:
    server = Server(OPEN)
    server.forbidden = True
    async with reporting(server) as (reports, audited, _):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(100)
        assert server.reports == {}
        server.forbidden = False
        await asyncio.sleep(100)
        assert server.about == ["cart"]


async def test_reports_that_another_client_deletes_are_written_again() -> None:
    server = Server(OPEN)
    async with reporting(server) as (reports, audited, _):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(1)
        server.reports.clear()
        await asyncio.sleep(2 * violation_reports.RELISTED)
        assert server.about == ["cart"]


async def test_reports_are_written_when_their_crd_is_created() -> None:
    server = Server()
    async with reporting(server) as (reports, audited, _):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(1)
        server.forms.append(OPEN)
        reports._loop.take_in(Notice((parse_key(f"{CRD}/-/reports.openreports.io"),)))
        await asyncio.sleep(1)
        assert server.about == ["cart"]


async def test_reports_are_listed_when_this_bridge_begins_to_write() -> None:
    class Sink(MemorySink):
        held = False

        def may_write(self) -> bool:
            return self.held

    server, sink = Server(OPEN), Sink()
    async with reporting(server, sink) as (reports, audited, _):
        audited.rows = {CART: [row("a", "one")]}
        reports.follow(None)
        await asyncio.sleep(100)
        assert (server.listed, server.about) == (0, [])
        sink.held = True
        await asyncio.sleep(2)
        assert server.about == ["cart"]
        sink.held = False
        await asyncio.sleep(2)
        server.reports.clear()  # as another bridge may do
        sink.held = True
        await asyncio.sleep(2)
        assert server.about == ["cart"]


async def test_the_most_severe_violations_have_reports(monkeypatch: Any) -> None:
    monkeypatch.setattr(violation_reports, "MOST_REPORTS", 1)
    server = Server(OPEN)
    async with reporting(server) as (reports, audited, _):
        audited.rows = {CART: [row("a", "one", "low")]}
        reports.follow(None)
        await asyncio.sleep(1)
        assert server.about == ["cart"]
        audited.rows[PAY] = [row("a", "one", "high")]
        reports.follow({PAY})
        await asyncio.sleep(1)
        assert server.about == ["pay"]


async def test_a_report_has_the_most_severe_violation_of_each_constraint() -> None:
    object_ = await Objects().get("/cart")
    rows = [
        row("quiet", "c", "low", "dryrun"),
        row("colors", "b", "medium", policies=["example.com/ColorPolicy/shop/b"]),
        row("colors", "a", "high", field="/theme", policies=["example.com/ColorPolicy/shop/a"]),
        row("unclear", "d", "unknown"),
    ]
    report = report_of(OLD, parse_key(CART), object_, rows)
    assert [(one["policy"], one["result"], one["scored"], one.get("severity")) for one in report["results"]] == [
        ("colors", "fail", True, "high"),
        ("quiet", "warn", False, "low"),
        ("unclear", "error", True, None),
    ]
    assert report["results"][0]["message"] == "a (and 1 more)"
    assert report["results"][0]["properties"] == {
        "enforcementAction": "deny",
        "violations": "2",
        "field": "/theme",
        "policies": "example.com/ColorPolicy/shop/a, example.com/ColorPolicy/shop/b",
    }
    assert report["summary"] == {"pass": 0, "fail": 1, "warn": 1, "error": 1, "skip": 0}
    assert "source" not in report


async def test_a_report_has_at_most_fifty_results_the_most_severe_first_and_counts_all() -> None:
    object_ = await Objects().get("/cart")
    rows = [row(f"c{number}", "a", "high" if number == 59 else "low") for number in range(60)]
    report = report_of(OPEN, parse_key(CART), object_, rows)
    assert [one["policy"] for one in report["results"][:2]] == ["c59", "c0"]
    assert (len(report["results"]), report["summary"]["fail"]) == (50, 60)


def test_details_of_any_shape_make_a_report() -> None:
    shapes: list[dict[str, Any]] = [
        {"policies": 5, "field": {"a": 1}, "target": 3},
        {"policies": [1, "example.com/ColorPolicy/shop/a", None], "severity": ["high"]},
        {"policies": "text", "target": "x" * 5000},
    ]
    rows = [row(f"c{number}", "m" * 5000, **shape) for number, shape in enumerate(shapes)]
    obj = {"apiVersion": "v1", "metadata": {}}
    results = report_of(OPEN, parse_key(CART), obj, rows)["results"]
    assert {result["properties"].get("policies", "") for result in results} == {"", "example.com/ColorPolicy/shop/a"}
    for result in results:
        assert all(isinstance(value, str) and len(value) <= 1024 for value in result["properties"].values())
        assert len(result["message"]) == 1024
