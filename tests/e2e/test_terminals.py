"""Read commands on narrow terminals, without colors, in pipes, with names of wide and right-to-left characters."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.cli.printers.table import display_width
from tests.e2e.conftest import SHOP, Run
from tests.e2e.terminal import at_a_terminal

NARROW = 40
ESCAPE = "\x1b"
COMMANDS = (
    ("effective", "httproute/cart", "-n", "shop"),
    ("explain", "httproute/cart#checkout", "-n", "shop"),
    ("tree",),
    ("get", "policies"),
    ("get", "routes"),
    ("problems",),
    ("status",),
    ("describe", "httproute", "cart", "-n", "shop"),
    ("request", "https://shop.example.com/cart"),
)
ROUTE = "gateway.networking.k8s.io"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_terminal_of_40_columns_gets_an_answer_without_long_lines(
    command: tuple[str, ...], bridge_path: Path, environment: dict[str, str]
) -> None:
    """A table keeps each column a few characters wide, so a line of many columns may take two of the terminal."""
    said = at_a_terminal([bridge_path, *command, "--manifests", SHOP], environment, NARROW)
    assert "Traceback" not in said
    assert ESCAPE not in said  # NO_COLOR is set there
    assert said.strip()
    for line in said.splitlines():
        longest = max((display_width(word) for word in line.split()), default=0)
        assert display_width(line) <= 2 * NARROW or longest > NARROW, line


def test_colors_are_for_terminals_and_not_for_pipes(
    bridge: Run, bridge_path: Path, environment: dict[str, str]
) -> None:
    asked = ("effective", "httproute/cart", "-n", "shop", "--manifests", SHOP)
    piped = bridge(*asked).stdout
    assert ESCAPE not in piped
    plain = at_a_terminal([bridge_path, *asked], environment, 200)
    assert ESCAPE not in plain
    colored = at_a_terminal([bridge_path, *asked], environment, 200, color=True)
    assert ESCAPE in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored).split() == plain.split()


def test_names_of_wide_and_right_to_left_characters_keep_the_columns(bridge: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    for number, name in enumerate(("路由-购物车", "מסלול-עגלה", "مسار")):
        (folder / f"9{number}.yaml").write_text(yaml.safe_dump(_policy(name), allow_unicode=True))
    said = bridge("get", "policies", "-n", "shop", "--manifests", folder)
    assert said.returncode == 0, said.stderr
    header, *rows = said.stdout.splitlines()
    at = display_width(header[: header.index("KIND")])
    for row in rows:
        kind = re.search(r"(ColorPolicy|TimeoutPolicy)", row)
        if kind:
            assert display_width(row[: kind.start()]) == at, row
    assert {"路由-购物车", "מסלול-עגלה", "مسار"} <= set(said.stdout.split())


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
    return {
        "apiVersion": "example.com/v1",
        "kind": "ColorPolicy",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"targetRefs": [ref], "theme": "dark"},
    }
