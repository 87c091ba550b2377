"""Read commands on narrow terminals, without colors, in pipes, with names of wide and right-to-left characters."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.cli.table import display_width
from tests.builders import resource
from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.e2e.terminal import at_a_terminal
from tests.in_process import run_warm_at_a_terminal

NARROW = 40
ESCAPE = "\x1b"
NAMES = ("路由-购物车", "מסלול-עגלה", "مسار")
COMMANDS = (
    ("effective", "httproute/cart", "-n", "shop"),
    ("effective", "-o", "wide"),
    ("explain", "httproute/cart#checkout", "-n", "shop"),
    ("explain", "ColorPolicy/路由-购物车", "-n", "shop"),
    ("tree",),
    ("get", "policies"),
    ("get", "policies", "-o", "wide"),
    ("get", "policykinds"),
    ("get", "routes"),
    ("get", "gateways"),
    ("problems",),
    ("status",),
    ("status", "-o", "wide"),
    ("describe", "httproute", "cart", "-n", "shop"),
    ("describe", "ColorPolicy/מסלול-עגלה", "-n", "shop"),
    ("analyze", "--delete", "ColorPolicy/shop/路由-购物车"),
    ("request", "https://shop.example.com/cart"),
    ("problems", "--violations"),
)
ROUTE = "gateway.networking.k8s.io"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop with policies whose names have wide, right-to-left and combining characters."""
    folder: Path = shutil.copytree(SHOP, tmp_path_factory.mktemp("narrow") / "shop")
    for number, name in enumerate(NAMES):
        (folder / f"9{number}.yaml").write_text(yaml.safe_dump(_policy(name), allow_unicode=True))
    (folder / "99.yaml").write_text(yaml.safe_dump(_policy("without-target", "missing")))
    return folder


@pytest.fixture(scope="module")
def folder_opa(
    folder: Path, bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of an OPA that holds `folder`."""
    log = tmp_path_factory.mktemp("log") / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", folder, "--listen", "127.0.0.1:0") as found:
        yield found.opa_url


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_terminal_of_40_columns_gets_an_answer_without_long_lines(
    command: tuple[str, ...], environment: dict[str, str], folder: Path, folder_opa: str
) -> None:
    said = run_warm_at_a_terminal([*command, "--opa", folder_opa], environment, NARROW, folder)
    assert "Traceback" not in said
    assert ESCAPE not in said  # NO_COLOR is set there
    assert said.strip()
    assert [line for line in said.splitlines() if display_width(line) > NARROW] == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_terminal_of_80_columns_breaks_no_word_path_or_place(
    command: tuple[str, ...], bridge: Run, environment: dict[str, str], folder: Path, folder_opa: str
) -> None:
    said = run_warm_at_a_terminal([*command, "--opa", folder_opa], environment, 80, folder)
    whole = bridge(*command, "--opa", folder_opa)
    assert [line for line in said.splitlines() if display_width(line) > 80] == []
    hint = {"pbctl", "reasons", "explains", "a", "reason", "Not", "shown", "in", "this", "width", "-", "#"}
    assert _words(said) - hint - _words(whole.stdout + whole.stderr) == set()


def test_list_of_policies_always_has_their_targets(environment: dict[str, str], folder: Path, folder_opa: str) -> None:
    for columns in (NARROW, 80, 120):
        said = run_warm_at_a_terminal(["get", "policies", "--opa", folder_opa], environment, columns, folder)
        assert "HTTPRoute/cart#checkout" in said.replace("\n", " "), columns


def test_graph_for_graphviz_has_a_hint_at_a_terminal_alone(
    bridge: Run, environment: dict[str, str], folder: Path, folder_opa: str
) -> None:
    drawn = ["graph", "gtw/infra/internal", "--opa", folder_opa]
    hint = "`pbctl tree` draws in the terminal, -o svg for a browser."
    assert hint in run_warm_at_a_terminal(drawn, environment, 80, folder)
    assert hint not in run_warm_at_a_terminal([*drawn, "-o", "mermaid"], environment, 80, folder)
    assert bridge(*drawn).stderr == ""


def _words(text: str) -> set[str]:
    """Return what is between blanks and the marks of YAML, or of a value on one line."""
    return {word.rstrip(":") for word in re.split(r"[\s`,=]+", text)}


def test_colors_are_for_terminals_and_not_for_pipes(
    bridge: Run, bridge_path: Path, environment: dict[str, str], shop_opa: str
) -> None:
    requested = ("effective", "httproute/cart", "-n", "shop", "--opa", shop_opa)
    piped = bridge(*requested).stdout
    assert ESCAPE not in piped
    plain = at_a_terminal([bridge_path, *requested], environment, 200)
    assert ESCAPE not in plain
    colored = at_a_terminal([bridge_path, *requested], environment, 200, color=True)
    assert ESCAPE in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored).split() == plain.split()


def test_names_of_wide_and_right_to_left_characters_keep_the_columns(bridge: Run, folder: Path) -> None:
    said = bridge("get", "policies", "-n", "shop", "--manifests", folder)
    assert said.returncode == 0, said.stderr
    header, *rows = said.stdout.splitlines()
    at = display_width(header[: header.index("KIND")])
    for row in rows:
        kind = re.search(r"(ColorPolicy|TimeoutPolicy)", row)
        if kind:
            assert display_width(row[: kind.start()]) == at, row
    assert set(NAMES) <= set(said.stdout.split())


@pytest.mark.long
def test_ten_thousand_problems_are_listed(bridge_path: Path, environment: dict[str, str], tmp_path: Path) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    policies = [_policy(f"p{number:05}", f"missing-{number}") for number in range(10_000)]
    (folder / "90.yaml").write_text("\n---\n".join(map(json.dumps, policies)))
    command = [str(bridge_path), "problems", "--manifests", str(folder)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert said.returncode == 1, said.stderr[-500:]
    assert sum("TargetNotFound" in line for line in said.stdout.splitlines()) >= 10_000


def _policy(name: str, target: str = "cart") -> dict[str, Any]:
    ref = {"group": ROUTE, "kind": "HTTPRoute", "name": target}
    return resource("example.com/v1", "ColorPolicy", name, "shop", spec={"targetRefs": [ref], "theme": "dark"})
