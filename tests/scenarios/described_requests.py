"""Requests of scenarios: the input of the query `request`, the command line for it, and the expected answer."""

import json
from typing import Any

from tests.scenarios.cases import Case

_EXPECTED = {
    *("rule", "listener", "backends", "filters", "filterBackends", "failure", "policies", "nearest", "also", "warnings")
}
_OPTIONS = {
    "host": "--host",
    "path": "--path",
    "method": "--method",
    "port": "--port",
    "sni": "--sni",
    "protocol": "--protocol",
    "gateway": "--gateway",
    "sourceNamespace": "--source-namespace",
}


def requests_of(case: Case) -> list[dict[str, Any]]:
    """Return the query's input for each request; the default is the scenario's only Gateway."""
    return [asked(case, outcome["request"]) for outcome in case.outcomes if "request" in outcome]


def asked(case: Case, told: dict[str, Any]) -> dict[str, Any]:
    """Return the query's input for a request in `expected.yaml`."""
    gateways = [key.name for key in case.keys if key.kind == "Gateway"]
    gateway = case.key(told["gateway"] if "gateway" in told else f"Gateway/{gateways[0]}")
    return {name: value for name, value in told.items() if name not in _EXPECTED} | {"gateway": gateway}


def name_of(asked: dict[str, Any]) -> str:
    """Return the name under which the answer is stored."""
    return json.dumps(asked, sort_keys=True)


def command_of(asked: dict[str, Any]) -> list[str]:
    """Return the command line for a query's input."""
    command = ["request"]
    for name, value in asked.items():
        if name == "grpc":
            command += ["--grpc", f"{value['service']}/{value['method']}"]
        elif name in {"headers", "query"}:
            option = "--header" if name == "headers" else "--query"
            command += [part for pair in value.items() for part in (option, "=".join(pair))]
        else:
            command += [_OPTIONS[name], str(value).removesuffix("@frontend")]
    return command


def check_request(case: Case, says: str, told: dict[str, Any], answer: dict[str, Any]) -> None:
    """Check the answer to a request; `rule` is null if no rule serves it."""
    assert answer["rule"] == (told["rule"] and case.key(told["rule"])), f"{says}: {answer}"
    assert (answer["nearest"] is None) == (told["rule"] is not None), f"{says}: {answer}"
    if told.get("listener"):
        assert answer["listener"] == case.key(told["listener"]), f"{says}: {answer}"
    if "backends" in told:
        wanted = [(case.key(one["target"]), one["weight"], one.get("problem")) for one in told["backends"]]
        found = [(one["target"], one["weight"], (one["problem"] or {}).get("reason")) for one in answer["backends"]]
        assert found == wanted, says
    if "filterBackends" in told:
        others = [(one["filter"], case.key(one["target"]), one.get("problem")) for one in told["filterBackends"]]
        got = [(one["filter"], one["target"], (one["problem"] or {}).get("reason")) for one in answer["filterBackends"]]
        assert got == others, says
    if "failure" in told:
        assert (answer["failure"] or {}).get("status") == told["failure"], f"{says}: {answer['failure']}"
    if "filters" in told:
        assert [one["type"] for one in answer["filters"]] == told["filters"], says
    if "policies" in told:
        _check_policies(case, says, told["policies"], [entry for entry in answer["policies"] if case.owns(entry)])
    if "also" in told:
        assert [other["listener"] for other in answer["also"]] == [case.key(one) for one in told["also"]], says
    if "warnings" in told:
        assert [warning["reason"] for warning in answer["warnings"]] == told["warnings"], f"{says}: {answer}"
    if "nearest" in told:
        _check_nearest(case, says, told["nearest"], answer["nearest"])


def _check_policies(case: Case, says: str, wanted: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    specs = [(entry["target"], entry["policyKind"], path["spec"]) for entry in found for path in entry["paths"]]
    assert specs == [(case.key(one["target"]), case.kind(one["policyKind"]), one["spec"]) for one in wanted], says


def _check_nearest(case: Case, says: str, wanted: dict[str, Any], found: dict[str, Any]) -> None:
    assert (found["reached"], found["reason"]) == (wanted["reached"], wanted["reason"]), f"{says}: {found}"
    if "candidates" in wanted:
        reasons = {one["node"]: one["reason"] for one in found["candidates"]}
        assert reasons == {case.key(node): reason for node, reason in wanted["candidates"].items()}, f"{says}: {found}"
