"""`pbctl blame`: errors in access logs, explained by the policies in effect."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridge.opa.client import Opa
from tests.e2e.conftest import ROOT, Run

FOLDER = ROOT / "examples/proxies"
_OBJECTS = ("--manifests", FOLDER / "objects.yaml")
_CHECKOUT, _VIEW = (f"httproute/shop/cart/rule/{place}/match/0/shop_example_com" for place in (1, 0))


def _line(status: object, details: str = "-", flags: str = "-", route: str | None = _CHECKOUT) -> dict[str, Any]:
    return {"response_code": status, "response_code_details": details, "response_flags": flags, "route_name": route}


def _blame(bridge: Run, file: Path, *lines: object, more: tuple[str, ...] = ()) -> dict[str, Any]:
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    done = bridge("blame", "--access-log", file, *_OBJECTS, "-o", "json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("line", "field", "policies"),
    [
        (_line(429, "local_rate_limited", "RL"), "/rateLimit/local", ["checkout"]),
        (_line(429, "", "RL"), "/rateLimit", ["checkout"]),
        (_line(504, "response_timeout", "UT"), "/timeout/http/requestTimeout", ["defaults"]),
        (_line(200, "local_rate_limited", "RL"), "/rateLimit/local", ["checkout"]),  # a gRPC call
        (_line(200, "-", "UT"), "/timeout/http/requestTimeout", ["defaults"]),
    ],
)
def test_error_is_explained_by_a_field_and_its_policies(
    bridge: Run, tmp_path: Path, line: dict[str, Any], field: str, policies: list[str]
) -> None:
    [answer] = _blame(bridge, tmp_path / "log", line)["answers"]
    assert (answer["known"], answer["rule"]) == (True, "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout")
    [found] = answer["fields"]
    assert (found["field"], [one.rpartition("/")[2] for one in found["policies"]]) == (field, policies)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            _line(429, "local_rate_limited", "RL", _VIEW),
            "no policy in effect at the rule sets BackendTrafficPolicy /rateLimit/local",
        ),
        (_line(504, "response_timeout", "UT", "default"), "no rule has the name of the proxy's route"),
        (
            _line(504, "response_timeout", "UT", "httproute/shop/cart/rule/9/match/0/x"),
            "no rule has the name of the proxy's route",
        ),
        (_line(503, "upstream_reset", "UC"), "no known cause has this status"),
        (_line(429, "", ""), "no known cause has this status"),
        (_line(403, "rbac_access_denied_matched_policy[none]"), "no policy in effect at the rule sets"),
        (_line(0, "downstream_remote_disconnect", "DC"), "no known cause has this status"),
    ],
)
def test_anything_else_is_unknown(bridge: Run, tmp_path: Path, line: dict[str, Any], message: str) -> None:
    found = _blame(bridge, tmp_path / "log", line)
    assert (found["explained"], found["unknown"]) == (0, 1)
    assert message in found["answers"][0]["message"]
    assert found["answers"][0]["fields"] == []


def test_request_that_no_rule_serves_and_the_answer_of_a_backend_are_no_matter_of_policies(
    bridge: Run, tmp_path: Path
) -> None:
    lines = (_line(404, "route_not_found", "NR", None), _line(500, "via_upstream"))
    found = _blame(bridge, tmp_path / "log", *lines)
    assert {answer["message"] for answer in found["answers"]} == {
        "no rule serves the request",
        "the backend sent this response",
    }
    assert found["explained"] == 2


def test_lines_are_counted(bridge: Run, tmp_path: Path) -> None:
    limited = _line(429, "local_rate_limited", "RL")
    served = (_line(200), _line(301, "direct_response"), _line(200, "via_upstream", "DC"))
    broken = (
        '[2026] "GET / HTTP/1.1" 200',
        '{"response_code": 2',
        "[1]",
        "3",
        '{"response_code": "x"}',
        "{}",
        _line(True),
        "[" * 5000,
    )
    found = _blame(
        bridge, tmp_path / "log", limited, limited, _line("429", "local_rate_limited", "RL"), *served, "", *broken
    )
    assert (found["succeeded"], found["explained"], found["unknown"], found["broken"]) == (3, 3, 0, len(broken))
    assert [answer["count"] for answer in found["answers"]] == [3]


def test_thousands_of_routes_are_asked_in_parts_and_only_for_their_errors(
    bridge: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    query = Opa.query

    async def counting(opa: Opa, name: str, query_input: Any, **more: Any) -> Any:
        if name == "blame":
            asked.append(len(query_input["answers"]))
        return await query(opa, name, query_input, **more)

    monkeypatch.setattr(Opa, "query", counting)
    routes = [f"httproute/shop/cart/rule/{place}/match/0/x" for place in range(1_500)]
    lines = [_line(200, route=route) for route in routes] + [_line(504, "", "UT", route) for route in routes]
    found = _blame(bridge, tmp_path / "log", *lines)
    assert (found["succeeded"], found["explained"] + found["unknown"]) == (1_500, 1_500)
    assert asked == [2, 1_000, 500]


def test_fields_of_a_log_may_have_other_names(bridge: Run, tmp_path: Path) -> None:
    line = {"code": 504, "flags": "UT", "route": _VIEW}
    fields = ("--field", "status=code", "--field", "flags=flags", "--field", "route=route")
    assert _blame(bridge, tmp_path / "log", line, more=fields)["explained"] == 1
    done = bridge("blame", "--access-log", tmp_path / "log", *_OBJECTS, "--field", "code=status")
    assert (done.returncode, "write NAME=FIELD" in done.stderr) == (2, True)


def test_empty_log_has_no_answers(bridge: Run, tmp_path: Path) -> None:
    assert _blame(bridge, tmp_path / "log", "")["answers"] == []
    done = bridge("blame", "--access-log", tmp_path / "missing", *_OBJECTS)
    assert (done.returncode, done.stderr) == (2, f"error: cannot read {tmp_path}/missing: No such file or directory\n")


def test_line_of_a_log_is_a_request(bridge: Run) -> None:
    line = (FOLDER / "access.log").read_text().splitlines()[2]
    done = bridge("request", "--from-log", line, *_OBJECTS, "-o", "json")
    assert json.loads(done.stdout)["rule"].endswith("cart#checkout")
    istio = json.dumps({"authority": "shop.example.com:8080", "path": "/cart?page=2", "method": "GET"})
    assert json.loads(bridge("request", "--from-log", istio, *_OBJECTS, "-o", "json").stdout)["rule"].endswith(
        "cart#view"
    )


@pytest.mark.parametrize(("line", "reason"), [("GET /", "is not a JSON object"), ('{"path": "/"}', "has no host")])
def test_line_without_a_request_is_an_error(bridge: Run, line: str, reason: str) -> None:
    done = bridge("request", "--from-log", line, *_OBJECTS)
    assert (done.returncode, reason in done.stderr) == (2, True)
