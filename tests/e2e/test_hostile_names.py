"""Names and values in manifests that are made to do harm: they are shown, and do nothing, in any command."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.e2e.terminal import at_a_terminal
from tests.in_process import run_warm_at_a_terminal

MARKUP = '<svgonload="alert(1)"><b>&amp;'  # a name without blanks: those that have some are refused
ESCAPE = "x\x1b[2J\x1b]0;owned\x07\x9b31my"
TURNED = "p\u00e4th-\u8def\u7531-\u202eexe.\u2066\u200b"
SHELL = "';$(id)`id`{}\\N&lt;--"
LONG = "a" * 253
NAMES = (MARKUP, ESCAPE, TURNED, SHELL, LONG)
# What a terminal obeys, or what turns text around; our own lines end with \r\n there.
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
GROUP = "gateway.networking.k8s.io"
COLORS = "example.com/ColorPolicy"
COLUMNS = 80


def objects() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in NAMES:
        there = {"name": name, "namespace": "shop"}
        rule = {
            "name": name,
            "matches": [{"path": {"value": f"/{NAMES.index(name)}"}}],
            "backendRefs": [{"name": name}],
        }
        parents = [{"name": "public", "namespace": "infra", "sectionName": "https"}, {"name": name}]
        route = {"hostnames": ["hostile.example.com"], "parentRefs": parents, "rules": [rule]}
        ref = {"group": GROUP, "kind": "HTTPRoute", "name": name}
        far = {"group": GROUP, "kind": "HTTPRoute", "name": f"no {name}"}
        spec = {"targetRefs": [ref, far], "defaults": {"strategy": "patch", "theme": name, name: {name: [name]}}}
        found += [
            {"apiVersion": f"{GROUP}/v1", "kind": "HTTPRoute", "metadata": there, "spec": route},
            {"apiVersion": "v1", "kind": "Service", "metadata": there, "spec": {"ports": [{"name": name, "port": 80}]}},
            {"apiVersion": "example.com/v1", "kind": "ColorPolicy", "metadata": there, "spec": spec},
        ]
    return found


@pytest.fixture(scope="module")
def served(manifests: Path, bridge_path: Path, environment: dict[str, str]) -> Iterator[str]:
    """The address of an OPA that holds them: one for all commands, because to start one for each takes long."""
    log = manifests.parent / f"{manifests.name}.log"
    with bridge_runs(bridge_path, environment, log, "--manifests", SHOP, manifests, "--listen", "127.0.0.1:0") as found:
        yield found.opa_url


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example and objects with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "hostile.yaml").write_text(yaml.safe_dump_all(objects()))
    return folder


COMMANDS = [
    ["effective", "-n", "shop", "-o", "wide"],
    ["effective", "-n", "shop", "-o", "json"],
    ["effective", "-n", "shop", "-o", "yaml"],
    *(["explain", f"httproute/shop/{name}", "-o", "wide"] for name in NAMES),
    ["tree", "-o", "wide"],
    ["graph", "-n", "shop", "-o", "dot"],
    ["graph", "-n", "shop", "-o", "mermaid"],
    ["graph", "-n", "shop", "-o", "svg"],
    *(["analyze", "--delete", f"colorpolicy/shop/{name}"] for name in NAMES),
    ["request", "--host", "hostile.example.com", "--path", "/1/x", "--port", "443"],
    ["request", "--host", "hostile.example.com", "--path", "/none", "--port", "443"],
    ["get", "policies", "-o", "wide"],
    ["get", "policies", "-o", "name"],
    ["get", "targets", "-n", "shop"],
    ["status"],
    ["explain", f"httproute/shop/not {ESCAPE}"],
    ["explain", f"httproute/shop/{ESCAPE}#not {ESCAPE}"],
    ["tree", f"{ESCAPE}/shop/cart"],
    ["get", "policies", "--kind", ESCAPE],
    ["get", "policies", "-l", ESCAPE],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:60])
def test_nothing_that_a_terminal_obeys_reaches_one(
    command: list[str], served: str, environment: dict[str, str], tmp_path: Path
) -> None:
    said = run_warm_at_a_terminal([*command, "--opa", served], environment, COLUMNS, tmp_path)
    assert said
    assert "unexpected" not in said
    assert not OBEYED.search(said), OBEYED.findall(said)


def test_analyze_shows_hostile_names_and_obeys_none(served: str, tmp_path: Path, environment: dict[str, str]) -> None:
    changed = [obj for obj in objects() if obj["kind"] == "ColorPolicy"]
    for policy in changed:
        policy["spec"]["defaults"]["theme"] += " changed"
        policy["spec"]["targetRefs"].append({"group": GROUP, "kind": "HTTPRoute", "name": "gone \x1b[2J"})
    (tmp_path / "changed.yaml").write_text(yaml.safe_dump_all(changed))
    for form in ("wide", "json", "github"):
        command = ["analyze", "-f", str(tmp_path), "--opa", served, "-o", form]
        said = run_warm_at_a_terminal(command, environment, COLUMNS, tmp_path)
        assert "unexpected" not in said
        assert not OBEYED.search(said), (form, OBEYED.findall(said))


def test_a_program_gets_the_names_as_they_are(bridge: Run, served: str) -> None:
    answer = bridge("get", "policies", "-n", "shop", "-o", "json", "--opa", served)
    assert set(NAMES) <= {entry["policy"].removeprefix(f"{COLORS}/shop/") for entry in json.loads(answer.stdout)}


def test_mistakes_in_hostile_files_are_reported_without_control_characters(
    tmp_path: Path, bridge_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "broken\x1b[31m.yaml").write_text('kind: "\\e[2J"\nmetadata: {name: "\\e[31mx/y"}\n---\n{[\n')
    said = at_a_terminal([bridge_path, "status", "--manifests", tmp_path], environment, COLUMNS)
    assert said.count("error: ") == 2
    assert not OBEYED.search(said.replace("\r\n", "\n")), OBEYED.findall(said)


@pytest.mark.parametrize("command", ["effective", "graph", "status"])
def test_every_mistake_in_manifests_is_reported_once_and_the_rest_is_answered(
    command: str, bridge: Run, tmp_path: Path
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("\n---\n".join(f"kind: Namespace\nmetadata: {{name: no-version-{number}}}" for number in range(50)))
    answer = bridge(command, "--manifests", SHOP, file)
    lines = answer.stderr.splitlines()
    assert (answer.returncode, len(lines), len(set(lines))) == (2, 50, 50)
    assert all(line.startswith(f"error: {file}:") for line in lines)
    assert "shop/cart" in answer.stdout
