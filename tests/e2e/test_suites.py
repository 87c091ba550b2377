"""`pbctl test`: suites of expectations, and what differs from them."""

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

from tests.e2e.conftest import ROOT, SHOP, Run

COLORS = {"policyKind": "ColorPolicy", "via": "Gateway/infra/public"}
CHECKOUT = {"target": "HTTPRoute/shop/cart#checkout", **COLORS}
SALE = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "sale", "namespace": "shop"},
    "spec": {
        "parentRefs": [{"name": "public", "namespace": "infra", "sectionName": "https"}],
        "rules": [{"name": "all", "backendRefs": [{"name": "catalog", "port": 80}]}],
    },
}
MISSPELLED = {
    "apiVersion": "example.com/v1",
    "kind": "ColorPolicy",
    "metadata": {"name": "cart", "namespace": "shop"},
    "spec": {
        "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cart"}],
        "defaults": {"contarst": 4},
    },
}
CONTRAST_LIMIT = {
    "apiVersion": "policybridge.io/v1alpha1",
    "kind": "Constraint",
    "metadata": {"name": "soft"},
    "spec": {
        "policy": "bridge.guardrails.bounded_field",
        "match": {"kinds": [{"kinds": ["HTTPRoute"]}]},
        "parameters": {"kind": "example.com/ColorPolicy", "field": "/contrast", "maximum": 2},
    },
}
# Tests by name; each with the beginning of what it reports, none if it passes.
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"effective": [{**CHECKOUT, "spec": {"contrast": 7}}]}, []),
    (
        {"effective": [{**CHECKOUT, "spec": {"contrast": 8}}]},
        ["/contrast: expected 8, found 7 from ColorPolicy/infra/acc"],
    ),
    ({"effective": [{**CHECKOUT, "spec": {"missing": 1}}]}, ["/missing: expected 1, found nothing"]),
    (
        {"effective": [{**CHECKOUT, "spec": {"contrast": 7, "theme": "light"}, "exact": True}]},
        ["/colors: expected nothing"],
    ),
    (
        {"effective": [{**CHECKOUT, "absent": ["/contrast", "/nope"]}]},
        ["/contrast: expected nothing, found it from Color", 'ColorPolicy has no field "nope"'],
    ),
    ({"effective": [{**CHECKOUT, "none": True}]}, ["expected none, found {"]),
    ({"effective": [{**CHECKOUT, "via": "Gateway/infra/internal", "spec": {"contrast": 10}}]}, []),
    (
        {"effective": [{**CHECKOUT, "origins": {"/contrast": "ColorPolicy/infra/brand"}}]},
        ["/contrast: expected from ColorPolicy/infra/brand, found from ColorPolicy/infra/accessibility"],
    ),
    (
        {"effective": [{**CHECKOUT, "outcomes": {"ColorPolicy/shop/cart": "Overridden"}}]},
        ["ColorPolicy/shop/cart: expected Overridden, found PartiallyProgrammed"],
    ),
    (
        {"changes": {"delete": ["ColorPolicy/infra/brand"]}, "effective": [{**CHECKOUT, "absent": ["/theme"]}]},
        [],
    ),
    (
        {"changes": {"delete": ["GatewayClass/example"]}, "problems": {"Gateway/infra/public": []}},
        ["Gateway/infra/public: problems: expected none, found ParentNotFound"],
    ),
    (
        {
            "changes": {"apply": ["sale.yaml"]},
            "effective": [{"target": "HTTPRoute/shop/sale#all", **COLORS, "spec": {"contrast": 7}}],
        },
        [],
    ),
    ({"effective": [{"target": "Service/shop/catalog", "policyKind": "TimeoutPolicy", "spec": {"request": "5s"}}]}, []),
    (
        {"effective": [{"target": "HTTPRoute/shop/cart", "policyKind": "TimeoutPolicy"}]},
        ["no TimeoutPolicy can be in effect"],
    ),
    (
        {"effective": [{"target": "HTTPRoute/shop/cart", "policyKind": "TimeoutPolicy", "none": True}]},
        ["HTTPRoute/shop/cart: no TimeoutPolicy can be in effect: no path leads there"],
    ),
    ({"effective": [{"target": "Service/shop/cart", "policyKind": "TimeoutPolicy", "none": True}]}, []),
    (
        {"effective": [{**CHECKOUT, "via": "Service/shop/cart", "none": True}]},
        ["no ColorPolicy can be in effect via Service/shop/cart"],
    ),
    (
        {"effective": [{**CHECKOUT, "via": "Namespace/shop", "absent": ["/theme"]}]},
        ["no ColorPolicy can be in effect via Namespace/shop: no path leads there"],
    ),
    (
        {"request": {"input": {"host": "shop.example.com", "path": "/cart/items"}, "rule": "HTTPRoute/shop/cart#view"}},
        [],
    ),
    (
        {
            "request": {
                "input": {"host": "nowhere.org", "protocol": "HTTPS"},
                "rule": "HTTPRoute/shop/cart#view",
                "reason": "NoRoute",
            }
        },
        ["rule: expected HTTPRoute/shop/cart#view, found none (", "reason: expected NoRoute, found NoListener"],
    ),
    ({"request": {"input": {"host": "nowhere.org", "protocol": "HTTPS"}, "rule": None}}, []),
    (
        {
            "request": {
                "input": {"host": "nowhere.org", "protocol": "HTTPS"},
                "effective": [{"policyKind": "ColorPolicy", "none": True}],
            }
        },
        ["request: effective: no rule serves the request (NoListener)"],
    ),
    ({"status": {"TimeoutPolicy/shop/catalog-again": {"Accepted": "Conflicted"}}}, []),
    (
        {"status": {"TimeoutPolicy/shop/catalog-again": {"Accepted": "True"}}},
        ["condition Accepted: expected True, found False (Conflicted: "],
    ),
    ({"problems": {"ColorPolicy/shop/summer-sale": ["TargetNotFound"], "ColorPolicy/shop/cart": []}}, []),
    (
        {"problems": {"ColorPolicy/shop/summer-sale": []}},
        ["problems: expected none, found TargetNotFound"],
    ),
    (
        {"changes": {"apply": ["misspelled.yaml"]}, "problems": {"ColorPolicy/shop/cart": []}},
        ["problems: expected none, found UnknownField"],
    ),
    (
        {"changes": {"apply": ["limit.yaml"]}, "problems": {"HTTPRoute/shop/cart": []}},
        ["problems: expected none, found Violation"],
    ),
    ({"changes": {"apply": ["limit.yaml"]}, "problems": {"HTTPRoute/shop/cart": ["Violation"]}}, []),
    ({"violations": {"HTTPRoute/shop/cart": []}}, ["violations: no Constraint matches the object"]),
    (
        {"changes": {"apply": ["limit.yaml"]}, "violations": {"Gateway/infra/public": []}},
        ["violations: no Constraint matches the object"],
    ),
    ({"effective": [{**CHECKOUT, "target": "HTTPRoute/shop/carts"}]}, ["did you mean HTTPRoute/shop/cart?"]),
    (
        {"status": {"Service/shop/catalog": {"Accepted": "True"}}},
        ["Service/shop/catalog is not a policy of an active kind"],
    ),
    (
        {
            "changes": {"delete": ["ColorPolicy/infra/brand"]},
            "status": {"ColorPolicy/infra/brand": {"Programmed": "Programmed"}},
            "problems": {"ColorPolicy/infra/brand": []},
            "violations": {"ColorPolicy/infra/brand": []},
        },
        ["ColorPolicy/infra/brand does not exist"],
    ),
    ({"effective": [{**CHECKOUT, "origins": {"/colors": "ColorPolicy/shop/cart"}}]}, ["/colors: expected from"]),
    (
        {
            "effective": [
                {"target": "HTTPRoute/shop/cart#view", "policyKind": "TimeoutPolicy", "via": "Service/shop/cart"}
            ]
        },
        ["no path leads there"],
    ),
    ({"effective": [{**CHECKOUT, "via": "Gateway/infra/public#htps", "none": True}]}, ["public#htps does not exist"]),
]


def suite(folder: Path, *tests: dict[str, Any], **more: Any) -> Path:
    file = folder / "suite.yaml"
    named = [{"name": f"test {number}", **test} for number, test in enumerate(tests)]
    head = {"apiVersion": "test.policybridge.io/v1alpha1", "kind": "Suite", "manifests": [str(SHOP)]}
    file.write_text(yaml.safe_dump({**head, "tests": named, **more}, sort_keys=False))
    return file


def test_differences_are_reported_with_place_expectation_and_origin(bridge: Run, tmp_path: Path) -> None:
    for name, obj in {"sale": SALE, "misspelled": MISSPELLED, "limit": CONTRAST_LIMIT}.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(obj))
    answer = bridge("test", suite(tmp_path, *(test for test, _ in CASES)), "-o", "json")
    assert answer.returncode == 1, answer.stderr
    for result, (_, expected) in zip(json.loads(answer.stdout), CASES, strict=True):
        found = [*result["differences"], *([result["error"]] if result["error"] else [])]
        assert len(found) == len(expected), result
        assert all(part in text for part, text in zip(expected, found, strict=True)), result


def test_a_field_within_a_unit_is_not_absent(bridge: Run, tmp_path: Path) -> None:
    at = {"target": "HTTPRoute/shop/orders#read", "policyKind": "RateLimitPolicy", "via": "Gateway/infra/partners"}
    test = {"effective": [{**at, "absent": ["/limits/total/rates", "/limits/total/counters"]}]}
    answer = bridge("test", suite(tmp_path, test, manifests=[str(ROOT / "examples" / "three-gateways")]))
    found = "/limits/total/rates: expected nothing, found it from RateLimitPolicy/infra/platform\n"
    assert (answer.returncode, answer.stdout.count("expected nothing")) == (1, 1)
    assert found in answer.stdout


FORK = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: east, namespace: shop}
spec: {gatewayClassName: edge, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: west, namespace: shop}
spec: {gatewayClassName: edge, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: tea, namespace: shop}
spec:
  parentRefs: [{name: east}, {name: west}]
  hostnames: [tea.test]
  rules:
  - {name: brew, matches: [{path: {type: Exact, value: /brew}}], backendRefs: [{name: pot, port: 80}]}
  - {name: pour, matches: [{path: {type: RegularExpression, value: "/[a-k1]{1000}"}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lost, namespace: shop}
spec: {parentRefs: [{name: north}], hostnames: [lost.test], rules: [{name: all}]}
---
apiVersion: v1
kind: Service
metadata: {name: pot, namespace: shop}
spec: {ports: [{port: 80}], selector: {app: pot}}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: east, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: east}]
  cors: {allowOrigins: ["https://tea.test"]}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: brew, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: tea, sectionName: brew}]
  timeout: {http: {requestTimeout: 1s}}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: readers, namespace: shop}
spec: {selector: {matchLabels: {app: pot}}, action: ALLOW}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: bots, namespace: shop}
spec: {selector: {matchLabels: {app: pot}}, action: AUDIT}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: writers, namespace: shop}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: tea}
  when: [{predicate: "request.method == 'POST'"}]
  limits: {all: {rates: [{limit: 5, window: 1s}]}}
"""
CORS = {"policyKind": "SecurityPolicy", "spec": {"cors": {}}}
TIMEOUT = {"policyKind": "BackendTrafficPolicy", "spec": {"timeout": {"http": {"requestTimeout": "1s"}}}}
POT = {"target": "Service/pot", "policyKind": "AuthorizationPolicy"}
LIMIT = {"target": "HTTPRoute/tea#brew", "policyKind": "kuadrant.io/RateLimitPolicy"}
BREW = {"host": "tea.test", "path": "/brew", "gateway": "Gateway/shop/west"}
FORKED: list[tuple[dict[str, Any], list[str]]] = [
    ({"effective": [{"target": "HTTPRoute/tea#brew", **CORS, "via": "Gateway/east"}]}, []),
    (
        {"effective": [{"target": "HTTPRoute/tea#brew", **CORS}]},
        ["via Gateway/shop/west#web: SecurityPolicy: no policy"],
    ),
    ({"effective": [{"target": "HTTPRoute/tea#brew", **TIMEOUT}]}, []),
    (
        {"effective": [{"target": "HTTPRoute/tea", **TIMEOUT, "via": "Gateway/east"}]},
        ["tea#pour via Gateway/shop/east"],
    ),
    (
        {
            "effective": [
                {
                    "target": "Gateway/west",
                    "policyKind": "BackendTrafficPolicy",
                    "via": "Gateway/west",
                    "outcomes": {"BackendTrafficPolicy/brew": "Programmed"},
                }
            ]
        },
        ["HTTPRoute/shop/tea#pour via Gateway/shop/west#web"],
    ),
    (
        {"effective": [{"target": "HTTPRoute/lost", **CORS}]},
        ["no request takes this path: the route is not attached: Gateway/shop/north does"],
    ),
    (
        {"request": {"input": BREW, "rule": "HTTPRoute/tea#brew", "effective": [CORS]}},
        ["SecurityPolicy: no policy is in"],
    ),
    ({"request": {"input": BREW, "effective": [TIMEOUT]}}, []),
    ({"request": {"input": {"host": "tea.test", "path": "/brew"}, "effective": [TIMEOUT]}}, []),
    (
        {"request": {"input": {"host": "tea.test", "path": "/brew"}, "effective": [CORS]}},
        ["request at Gateway/shop/west#web: HTTPRoute/shop/tea#brew via Gateway/shop/west#web: SecurityPolicy: no "],
    ),
    (
        {"request": {"input": {"host": "tea.test", "path": "/aaaa"}, "rule": None}},
        ["the rule is unknown: Cannot tell"],
    ),
    ({"request": {"input": {"host": "tea.test", "path": "/aaaa"}, "effective": [TIMEOUT]}}, ["the rule is unknown"]),
    ({"effective": [{**POT, "outcomes": {"AuthorizationPolicy/bots": "Programmed"}}]}, []),
    (
        {
            "effective": [
                {
                    **POT,
                    "spec": {"action": "ALLOW"},
                    "origins": {"/action": ["AuthorizationPolicy/readers", "AuthorizationPolicy/bots"]},
                }
            ]
        },
        [],
    ),
    ({"effective": [{**POT, "spec": [{"action": "AUDIT"}, {"action": "ALLOW"}]}]}, []),
    ({"effective": [{**POT, "spec": [{"action": "AUDIT"}]}]}, ['/: expected [{"action": "AUDIT"}], found [{']),
    ({"effective": [{**POT, "spec": {"action": "DENY"}}]}, ['/: expected {"action": "DENY"}, found [{']),
    (
        {"effective": [{**POT, "absent": ["/action"]}]},
        ["/action: expected nothing, found it from AuthorizationPolicy/"],
    ),
    (
        {"effective": [{**LIMIT, "spec": {"limits": {"all": {}}}}]},
        ["#web: kuadrant.io/RateLimitPolicy: the answer is not certain"] * 2,
    ),
    ({"effective": [{**LIMIT, "none": True}]}, ["the answer is not certain"] * 2),
]


def test_an_expectation_is_about_every_path_and_needs_a_certain_answer(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "fork.yaml").write_text(FORK)
    answer = bridge("test", suite(tmp_path, *(test for test, _ in FORKED), manifests=["fork.yaml"]), "-o", "json")
    assert answer.returncode == 1, answer.stderr
    for result, (_, expected) in zip(json.loads(answer.stdout), FORKED, strict=True):
        assert not result["error"], result
        assert len(result["differences"]) == len(expected), result
        assert all(part in text for part, text in zip(expected, result["differences"], strict=True)), result


def test_requests_from_a_namespace_that_does_not_exist_are_an_error(bridge: Run, tmp_path: Path) -> None:
    manifests = [str(ROOT / "examples" / "mesh")]
    at = {"target": "Service/shop/cart", "policyKind": "RetryPolicy", "spec": {"attempts": 3}}
    sent = {"gateway": "Service/shop/cart", "path": "/", "sourceNamespace": "wbe"}
    tests = [
        {"name": "target", "effective": [{**at, "sourceNamespace": "wbe"}]},
        {"name": "request", "request": {"input": sent, "rule": "HTTPRoute/shop/cart#all"}},
    ]
    suite = {"apiVersion": "test.policybridge.io/v1alpha1", "kind": "Suite", "manifests": manifests, "tests": tests}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    answer = bridge("test", tmp_path)
    assert answer.returncode == 1
    assert answer.stdout.count("namespace wbe has no objects; did you mean web?") == 2, answer.stdout


def test_a_draft_of_every_kind_of_policy_passes_and_names_the_omitted_fields(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "fork.yaml").write_text(FORK)
    drafted = bridge("init", "tests", tmp_path)
    assert "left out: HTTPRoute/shop/tea#brew via Gateway/shop/east#web: kuadrant.io/RateLimitPolicy" in drafted.stderr
    (tmp_path / "suite.yaml").write_text(drafted.stdout)
    answer = bridge("test", tmp_path)
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout
    bare = [one for test in yaml.safe_load(drafted.stdout)["tests"] for one in test["effective"] if "via" in one]
    assert [one["via"] for one in bare if one["policyKind"].endswith("SecurityPolicy")] == ["Gateway/shop/east#web"] * 2


def test_suite_of_the_example_passes_and_suites_are_not_manifests(bridge: Run, tmp_path: Path) -> None:
    answer = bridge("test", ROOT / "examples" / "tests")
    assert answer.returncode == 0, answer.stdout
    assert "examples/tests/shop.yaml:6: the checkout has the contrast of its public Gateway PASSED\n" in answer.stdout
    suite(tmp_path, CASES[0][0])
    (tmp_path / "sale.yaml").write_text(yaml.safe_dump(SALE))
    assert bridge("get", "routes", "--manifests", tmp_path).stderr == ""


def test_drafted_suite_passes_until_something_changes(bridge: Run, tmp_path: Path) -> None:
    draft = yaml.safe_load(bridge("init", "tests", SHOP).stdout)
    file = suite(tmp_path, **{**draft, "manifests": [str(SHOP)]})
    assert bridge("test", file).returncode == 0
    for test in draft["tests"]:
        test["changes"] = {"delete": ["ColorPolicy/infra/accessibility"]}
    file = suite(tmp_path, **{**draft, "manifests": [str(SHOP)]})
    assert "from ColorPolicy/infra/brand" in bridge("test", file, "-k", "HTTPRoute/blog").stdout


def test_results_are_junit_and_annotations_at_the_line_of_the_test(bridge: Run, tmp_path: Path) -> None:
    file = suite(tmp_path, CASES[0][0], CASES[1][0])
    report = ET.fromstring(bridge("test", file, "-o", "junit").stdout)  # noqa: S314 - our own output
    assert report.attrib == {"tests": "2", "failures": "1", "errors": "0"}
    line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if "name: test 1" in text)
    annotation = bridge("test", file, "-o", "github").stdout
    assert annotation.startswith(f"::error file={file},line={line},title=test 1::HTTPRoute/shop/cart#checkout via ")


def test_schema_describes_the_suites_and_refuses_others(bridge: Run) -> None:
    schema = json.loads(bridge("test", "--schema").stdout)
    example = yaml.safe_load((ROOT / "examples" / "tests" / "shop.yaml").read_text())
    jsonschema.validate(example, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**example, "test": []}, schema)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"test": []}, 'unknown field `test`; did you mean "tests"?'),
        (
            {"tests": [{"name": "a", "efective": []}]},
            'unknown field `efective` - at `$.tests[0]`; did you mean "effective"?',
        ),
        ({"tests": [{}]}, "missing required field `name` - at `$.tests[0]`"),
        ({"tests": [{"name": "a", "effective": [{**CHECKOUT, "absent": ["theme"]}]}]}, "matching regex '^/'"),
        (
            {"tests": [{"name": "a", "changes": {"apply": ["sale.yaml"]}}]},
            "expects nothing: state effective, request, ",
        ),
        ({"tests": [{"name": "a", "effective": [], "problems": {}}]}, "the test expects nothing"),
        ({"tests": [{"name": "a", "status": {"ColorPolicy/shop/cart": {}}}]}, "no condition of ColorPolicy/shop/cart"),
        ({"tests": [{"name": "a", "request": {"input": {"host": "a.test"}}}]}, "the request expects nothing"),
        (
            {"tests": [{"name": "a", "request": {"input": {"hots": "a.test"}, "rule": None}}]},
            'unknown field `hots` - at `$.tests[0].request.input`; did you mean "host"?',
        ),
        ({"kind": "Suites"}, "not a Suite of test.policybridge.io/v1alpha1"),
        ({"manifests": ["nowhere"]}, "nowhere: no such file or folder"),
    ],
)
def test_invalid_suite_is_an_error_with_its_place(
    bridge: Run, tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    answer = bridge("test", suite(tmp_path, CASES[0][0], **more))
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_an_error_in_a_suite_has_its_line_and_another_encoding_is_one(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    text = "apiVersion: test.policybridge.io/v1alpha1\nkind: Suite\ntests:\n- name: a\n  efective: []\n"
    file.write_text(text)
    assert f"{file}:5: Object contains unknown field `efective`" in bridge("test", file).stderr
    file.write_bytes(text.encode("utf-16"))
    answer = bridge("test", tmp_path)
    assert (answer.returncode, answer.stderr) == (2, f"error: {file}: not UTF-8 text\n")


MINE = """package bridge.guardrails.mine

import data.bridge.effective_targets

violations contains {"message": "no"} if effective_targets.covers("*.example.com", input.name)
"""
MINE_TEST = """package bridge.guardrails.mine_test

import data.bridge.guardrails.mine

test_good if count(mine.violations) == 1 with input as {"name": "a.example.com"}

test_bad if count(mine.violations) == 1 with input as {"name": "a.example.org"}
"""


def test_tests_of_rego_in_the_folder_run_too(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.rego").write_text(MINE)
    (tmp_path / "mine_test.rego").write_text(MINE_TEST)
    done = bridge("test", tmp_path, "-o", "json")
    assert done.returncode == 1, done.stderr
    results = {one["name"]: (one["line"], one["passed"]) for one in json.loads(done.stdout)}
    assert results == {
        "bridge.guardrails.mine_test.test_good": (5, True),
        "bridge.guardrails.mine_test.test_bad": (7, False),
    }
    (tmp_path / "mine.rego").write_text("package bridge.guardrails.mine\n\nviolations contains 1 if unknown(1)\n")
    done = bridge("test", tmp_path)
    assert done.returncode == 2
    assert "mine.rego:3: rego_type_error: undefined function unknown" in done.stderr


def test_watching_tests_again_after_each_change(bridge_path: Path, environment: dict[str, str], tmp_path: Path) -> None:
    file = suite(tmp_path, {"effective": [{**CHECKOUT, "spec": {"contrast": 8}}]})
    text = file.read_text()
    command: list[str | Path] = [bridge_path, "test", tmp_path, "--watch"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert any("1 failed, 0 passed" in line for line in process.stdout)
            file.write_text(text.replace("tests:", "test:"))  # a mistake ends nothing
            assert any("unknown field" in line for line in process.stdout)
            file.write_text(text.replace("contrast: 8", "contrast: 7"))
            assert any("1 passed" in line for line in process.stdout)
        finally:
            process.kill()


def test_a_suite_in_a_list_is_read(bridge: Run, tmp_path: Path) -> None:
    suite = {
        "apiVersion": "test.policybridge.io/v1alpha1",
        "kind": "Suite",
        "manifests": [str(SHOP)],
        "tests": [{"name": "soft", "effective": [{**CHECKOUT, "spec": {"contrast": 8}}]}],
    }
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "boats"}, "spec": {"ports": [{"port": 80}]}}
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [service, suite]}))
    answer = bridge("test", tmp_path)
    assert (answer.returncode, "soft FAILED" in answer.stdout) == (1, True)
    assert bridge("problems", "--manifests", tmp_path).returncode == 0


def test_a_request_is_about_each_port_of_a_gateway_unless_it_names_one(bridge: Run, tmp_path: Path) -> None:
    east = "spec: {gatewayClassName: edge, listeners: [{name: web, port: 80, protocol: HTTP}]}"
    more = east.replace("HTTP}]", "HTTP}, {name: more, port: 8080, protocol: HTTP}]")
    at_web = FORK.replace("kind: Gateway, name: east}", "kind: Gateway, name: east, sectionName: web}")
    (tmp_path / "fork.yaml").write_text(at_web.replace(east, more, 1))
    asked = {"host": "tea.test", "path": "/brew", "gateway": "Gateway/shop/east"}
    inputs: list[dict[str, Any]] = [asked, {**asked, "port": 80}]
    tests = [{"request": {"input": one, "effective": [CORS]}} for one in inputs]
    answer = bridge("test", suite(tmp_path, *tests, manifests=["fork.yaml"]), "-o", "json")
    [wrong], right = [one["differences"] for one in json.loads(answer.stdout)]
    assert ("via Gateway/shop/east#more: SecurityPolicy: no policy is in effect" in wrong, right) == (True, [])


def test_changes_that_apply_nothing_or_what_an_api_server_refuses_are_an_error(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "nothing.yaml").write_text("# not yet\n")
    (tmp_path / "misspelled.yaml").write_text(yaml.safe_dump(MISSPELLED))
    (tmp_path / "sale.yaml").write_text(yaml.safe_dump(SALE))
    names = ("nothing.yaml", "misspelled.yaml", f"../{tmp_path.name}/sale.yaml")
    tests = [{"changes": {"apply": [name]}, "effective": [{**CHECKOUT, "spec": {"contrast": 7}}]} for name in names]
    answer = bridge("test", suite(tmp_path, *tests), "-o", "json")
    nothing, misspelled, beside = [one["error"] for one in json.loads(answer.stdout)]
    assert beside == ""
    assert nothing == f"no objects in {tmp_path / 'nothing.yaml'}"
    assert misspelled.startswith('ColorPolicy/shop/cart: unknown field "spec.defaults.contarst"')


def test_a_suite_names_the_constraints_that_are_not_active_and_may_be_meant_for_its_objects(
    bridge: Run, tmp_path: Path
) -> None:
    text = yaml.safe_dump(CONTRAST_LIMIT)
    inactive = text.replace("name: soft", "name: idle").replace("spec:\n", "spec:\n  enforcementAction: Deny\n")
    far = inactive.replace("name: idle", "name: far").replace("- HTTPRoute", "- GRPCRoute")
    (tmp_path / "idle.yaml").write_text(f"{text}---\n{inactive}---\n{far}")
    test = {"changes": {"apply": ["idle.yaml"]}, "violations": {"HTTPRoute/shop/cart": ["soft"]}}
    answer = bridge("test", suite(tmp_path, test), "-o", "json")
    [found] = json.loads(answer.stdout)
    said = found["error"] + "".join(found["differences"])
    assert ("Constraint/idle is not active: " in said, "Constraint/far" in said) == (True, False)
