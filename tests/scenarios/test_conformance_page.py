"""docs/auditors/conformance.md and constraints.md name scenarios and files that there are."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.cases import all_cases

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "auditors" / "conformance.md"
CONSTRAINTS = ROOT / "docs" / "auditors" / "constraints.md"
NAMED = re.compile(r"\[(\w+)\](?![:(])")
DEFINED = re.compile(r"^\[(\w+)\]: (\S+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
FILES = re.compile(r"`((?:tests|rego|docs)/[\w/.]+)`")


@pytest.mark.parametrize("page", [PAGE, CONSTRAINTS], ids=lambda page: page.stem)
def test_the_page_links_to_every_scenario_that_it_names(page: Path) -> None:
    text = page.read_text()
    links = dict(DEFINED.findall(text))
    assert [link for link in links.values() if not (page.parent / link).is_file()] == []
    assert all(link.split("/")[-2] == name for name, link in links.items())
    assert set(NAMED.findall(CODE.sub("", text))) <= links.keys()


def test_every_scenario_is_on_the_page() -> None:
    rows = "\n".join(line for line in PAGE.read_text().splitlines() if line.startswith("|"))
    missing = [case for case in all_cases() if not case.constrained and case.name not in NAMED.findall(rows)]
    assert not missing, "add to the table of further scenarios, and to the links at the end:\n" + "\n".join(
        [f"| [{case.name}] | {case.title} |" for case in missing]
        + [f"[{case.name}]: ../../tests/scenarios/{case.name}/expected.yaml" for case in missing]
    )


def test_every_scenario_of_constraints_is_on_their_page() -> None:
    rows = "\n".join(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("|"))
    assert [case.name for case in all_cases() if case.constrained and case.name not in NAMED.findall(rows)] == []


def test_the_files_that_the_page_names_exist() -> None:
    assert [file for file in FILES.findall(PAGE.read_text()) if not (ROOT / file).exists()] == []


FIELDS = re.compile(r"^\| `([A-Za-z]+(?:\.[\w\[\]]+)*)` \|", re.MULTILINE)
DEMANDS = re.compile(r"\b(?:MUST|SHOULD)\b")
ROUTES = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
KINDS = (*ROUTES, "GatewayClass", "Gateway", "ListenerSet", "ReferenceGrant", "BackendTLSPolicy")


def demanding_fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The fields below a path whose description has a MUST or SHOULD."""
    if DEMANDS.search(schema.get("description", "")):
        yield path
    for name, field in schema.get("properties", {}).items():
        yield from demanding_fields(field, f"{path}.{name}")
    if "items" in schema:
        yield from demanding_fields(schema["items"], f"{path}[]")


def kinds_and_fields(crds: Path) -> dict[str, list[str]]:
    """The fields of each kind that have a MUST or SHOULD, in the experimental channel, which has the standard one's."""
    found = {}
    for file in sorted((crds / "experimental").glob("gateway.networking.k8s.io_*.yaml")):
        spec = yaml.safe_load(file.read_text())["spec"]
        kind = spec["names"]["kind"]
        if kind in KINDS:
            found[kind] = list(demanding_fields(spec["versions"][0]["schema"]["openAPIV3Schema"], kind))
    return found


def fields_of_the_page() -> set[str]:
    """The fields in the tables of Gateway API's requirements, `xRoute` replaced by every kind of route."""
    section = PAGE.read_text().partition("## What Gateway API decides")[2].partition("## Example 1")[0]
    named = FIELDS.findall(section)
    return {field.replace("xRoute", kind) for field in named for kind in ROUTES}


def test_every_demand_of_gateway_api_is_on_the_page(gateway_api_crds: Path) -> None:
    shown = fields_of_the_page()
    # A kind's own row is for the kind's own description; a field's row is for what is below it, too.
    missing = [
        field
        for fields in kinds_and_fields(gateway_api_crds).values()
        for field in fields
        if field not in shown and not any("." in row and field.startswith((f"{row}.", f"{row}[")) for row in shown)
    ]
    assert missing == []


def test_the_fields_on_the_page_are_those_of_gateway_api(gateway_api_crds: Path) -> None:
    real = {field for fields in kinds_and_fields(gateway_api_crds).values() for field in fields}
    section = PAGE.read_text().partition("## What Gateway API decides")[2].partition("## Example 1")[0]
    for row in FIELDS.findall(section):
        of_any_kind = [row.replace("xRoute", kind) for kind in ROUTES]
        assert any(field.startswith(name) for name in of_any_kind for field in real), row
