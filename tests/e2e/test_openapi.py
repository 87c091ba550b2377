"""docs/reference/openapi.yaml is valid and what a real bridge and its OPA answer; clients made from it run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from bridge import __version__
from bridge.web.queries import ALLOWED
from hack.tools.building import find_go
from tests.e2e.conftest import ROOT, SHOP
from tests.e2e.serving import Serving, fetch

DOCUMENT = yaml.safe_load((ROOT / "docs" / "reference" / "openapi.yaml").read_text())
CLIENTS = ROOT / "examples" / "clients"
ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
CATALOG = "core/Service/shop/catalog"
BRAND = "example.com/ColorPolicy/infra/brand"
INPUTS: dict[str, list[dict[str, Any]]] = {
    "effective": [{"targets": ["gateway.networking.k8s.io/Gateway/infra/public", CATALOG]}, {"targets": ["x"]}],
    "explain": [{"target": ROUTE}, {"target": CATALOG}],
    "tree": [{}, {"root": ROUTE, "refused": True}],
    "impact": [{"policy": BRAND}],
    "problems": [{}],
    "request": [
        {"host": "shop.example.com", "path": "/cart", "port": 443},
        {"host": "payments.example.com", "path": "/bank", "port": 443},
    ],
    "status": [{"policies": [BRAND, "example.com/TimeoutPolicy/shop/catalog"]}],
}


def test_the_document_is_valid_and_of_this_version() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["info"]["version"] == __version__
    assert set(INPUTS) <= ALLOWED
    described = {path.rsplit("/", 1)[1] for path in DOCUMENT["paths"] if path.startswith("/api/query/")}
    assert described == set(INPUTS)


@pytest.mark.parametrize("name", INPUTS)
def test_answers_of_queries_are_as_described(served_shop: Serving, name: str) -> None:
    for query_input in INPUTS[name]:
        for url, path in ((served_shop.url, f"/api/query/{name}"), (served_shop.opa_url, f"/v1/data/bridge/v1/{name}")):
            operation = DOCUMENT["paths"][path]["post"]
            body = {"input": query_input}
            _check(operation["requestBody"]["content"]["application/json"]["schema"], body)
            status, answer = _ask(f"{url}{path}", json.dumps(body).encode())
            _check(_answer_of(operation, status), answer)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/v1/effective", f"?target={ROUTE}%23checkout"),
        ("/v1/effective", "?target=httproute/cort"),
        ("/api/reasons", ""),
        ("/api/object", f"?key={ROUTE}"),
        ("/api/object", "?key=httproute/cart"),
        ("/api/events", f"?key={ROUTE}"),
        ("/api/problems", ""),
        ("/api/violations", ""),
        ("/api/uncovered", "?without=colorpolicy"),
        ("/api/topology", ""),
        ("/api/topology", "?limit=nothing"),
    ],
)
def test_answers_of_the_bridge_are_as_described(served_shop: Serving, path: str, parameters: str) -> None:
    status, answer = _ask(f"{served_shop.url}{path}{parameters}")
    _check(_answer_of(DOCUMENT["paths"][path]["get"], status), answer)


def test_a_change_has_the_described_effect(served_shop: Serving) -> None:
    policy = (SHOP / "60-brand.yaml").read_bytes().replace(b"brand", b"other")
    status, answer = _ask(f"{served_shop.url}/api/changes?delete=colorpolicy/infra/brand", policy)
    assert status == 200
    _check(_answer_of(DOCUMENT["paths"]["/api/changes"]["post"], status), answer)


def test_the_python_example_runs(served_shop: Serving) -> None:
    command = [sys.executable, str(CLIENTS / "python" / "effective.py"), served_shop.opa_url]
    reported = _run([*command, f"{CATALOG}#metrics"], ROOT)
    assert reported == PRINTED
    refused = subprocess.run([*command, "core/Service/a/b"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "TargetNotFound: core/Service/a/b does not exist\n")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
def test_a_client_in_typescript_is_generated_and_runs(served_shop: Serving, tmp_path: Path) -> None:
    folder = _copied("typescript", tmp_path)
    _run(["npm", "install", "--no-audit", "--no-fund", "--silent"], folder)
    for script in ("generate", "build"):
        _run(["npm", "run", "--silent", script], folder)
    command = ["node", "build/effective.js", served_shop.opa_url]
    assert _run([*command, f"{CATALOG}#metrics"], folder) == PRINTED
    refused = subprocess.run([*command, "core/Service/a/b"], cwd=folder, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "TargetNotFound: core/Service/a/b does not exist\n")


@pytest.mark.long
def test_a_client_in_go_is_generated_and_runs(served_shop: Serving, tmp_path: Path) -> None:
    folder = _copied("go", tmp_path)
    go = find_go()
    _run([go, "generate", "."], folder)
    _run([go, "mod", "tidy"], folder)
    reported = _run([go, "run", ".", served_shop.url, "service/shop/catalog#metrics"], folder)
    assert reported == PRINTED


PRINTED = """\
example.com/TimeoutPolicy {"request":"1s"}
  /request comes from "example.com/TimeoutPolicy/shop/catalog-metrics"
"""


def _copied(name: str, tmp_path: Path) -> Path:
    """An example in a folder of its own, from which docs/ is where it is in a clone."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    made = {"node_modules", "build", "api.d.ts", "api.gen.go", "go.sum", "package-lock.json"}
    ignored = shutil.ignore_patterns(*made)
    return shutil.copytree(CLIENTS / name, tmp_path / "examples" / "clients" / name, ignore=ignored)


def _run(command: list[Any], folder: Path) -> str:
    environment = os.environ | {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    answer = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def _ask(url: str, body: bytes | None = None) -> tuple[int, Any]:
    status, answer = fetch(url, body)
    return status, json.loads(answer)


def _answer_of(operation: dict[str, Any], status: int) -> Any:
    found = operation["responses"].get(str(status), operation["responses"]["default"])
    if "$ref" in found:
        found = DOCUMENT["components"]["responses"][found["$ref"].rsplit("/", 1)[1]]
    return found["content"]["application/json"]["schema"]


def _closed(schema: Any) -> Any:
    """The schema, in which no field is allowed that it does not describe: what is answered is described."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


_CLOSED = _closed(DOCUMENT)
_REGISTRY: Registry[Any] = Registry().with_resource(
    "urn:api", Resource.from_contents(_CLOSED, default_specification=DRAFT202012)
)


def _check(schema: Any, document: Any) -> None:
    absolute = json.loads(json.dumps(_closed(schema)).replace('"#/', '"urn:api#/'))
    errors = [
        f"{error.json_path}: {error.message}"
        for error in OAS30Validator(absolute, registry=_REGISTRY).iter_errors(document)
    ]
    assert errors == []
