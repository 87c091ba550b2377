"""Mistakes in a command's words: one line with the valid form or near matches, and exit code 2."""

import shlex
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, SHOP, Run

GATEWAYS = "Gateway/infra/internal, Gateway/infra/public"
SOURCES = "--manifests PATH, --opa URL (or set BRIDGE_OPA_URL), or --kubeconfig FILE"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("effective --kind ColourPolicy", "unknown policy kind 'ColourPolicy'; did you mean ColorPolicy"),
        ("effective httproute/crat", "httproute/crat is not found; did you mean HTTPRoute/shop/cart?"),
        ("effective httproute/cart -n blog", "is not found in namespace blog; did you mean HTTPRoute/shop/cart?"),
        ("effective httproute/cart#chekout", "has no section 'chekout'; did you mean HTTPRoute/shop/cart#checkout?"),
        ("effective htproute/cart", "unknown kind 'htproute'; did you mean HTTPRoute?"),
        ("effective cart", "error: 'cart' is not a kind; did you mean HTTPRoute/shop/cart"),
        ("effective carts", "'carts' is not a kind: write KIND/NAME[#SECTION]"),
        ("effective --bogus", "error: no such option '--bogus' (see `pbctl effective --help`)\n"),
        ("effective -o xml", "'xml' is not one of"),
        (
            "tree gateways",
            f"error: gateways means 2 objects: give one of {GATEWAYS}\n",
        ),
        ("graph gtw/publc", "did you mean Gateway/infra/public?"),
        (
            "get targets --without timeoutpolcy",
            "error: unknown policy kind 'timeoutpolcy'; did you mean TimeoutPolicy?\n",
        ),
        ("get routes --without timeoutpolicy", ""),
        ("get rotes", "; did you mean routes?\n"),
        ("get gatways", "error: 'gatways' is not a kind: "),
        ("get gatways", "did you mean Gateway"),
        ("get svc -o jsonpath={.items[*}", "is not a path"),
        ("status svc/shop/catalog", "error: not a policy: Service/shop/catalog\n"),
        ("analyze", "nothing to analyze: give FILE, or --delete OBJECT"),
        ("analyze -f /nowhere", "/nowhere"),
        ("analyze --delete colorpolicy/infra/brnd", "did you mean ColorPolicy/infra/brand?"),
        (
            "analyze --delete gateway/infra/public#https",
            "error: Gateway/infra/public#https is a part of an object: apply the object without it\n",
        ),
        ("analyze --prune --delete colorpolicy/infra/brand", "--prune needs -f FILE and --manifests PATH"),
    ],
)
def test_a_missing_object_is_one_line_with_near_matches(shop: Run, command: str, said: str) -> None:
    _is_error(shop, command, said)


@pytest.mark.parametrize("command", ["effective", "status"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", f"error: no source: no kubeconfig found; give {SOURCES}\n"),
        ("--opa http://127.0.0.1:1 --manifests x", "cannot be used together"),
        (
            "--kubeconfig a --manifests b",
            "error: --manifests and --kubeconfig cannot be used together: give one source\n",
        ),
        (
            "-n shop -A --manifests b",
            "error: -n and -A cannot be used together: -n selects one namespace, -A all of them\n",
        ),
        ("--opa http://127.0.0.1:1", "OPA at http://127.0.0.1:1 cannot be reached: connection refused"),
        ("--opa http://127.0.0.1:1 --opa-token-file /nowhere", "/nowhere"),
        ("--manifests /nowhere", "/nowhere"),
    ],
)
def test_unreadable_input_is_one_line_with_the_valid_form(
    bridge: Run, tmp_path: Path, command: str, options: str, said: str
) -> None:
    _is_error(partial(bridge, more={"HOME": str(tmp_path)}), f"{command} {options}", said)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("efective", "error: no such command 'efective'. Did you mean 'effective'?"),
        ("dif", "Did you mean 'diff'?"),
        (
            f"compare --manifests {SHOP}",
            "error: give two sources to compare, not 1: --context, --opa or --manifests twice\n",
        ),
        (
            f"violations memory-limit --manifests {ROOT}/examples/constraints",
            "error: Constraint/memory-limit does not exist; did you mean memory-limits?\n",
        ),
        ("opa-config --bridge-url bridge:1234", "error: --bridge-url bridge:1234: write http://HOST:PORT\n"),
        ("opa-config --view Gateway/infra/public", "'Gateway/infra/public' is not a name of a view"),
        (
            "opa-config --view=federation --from=s3://fleet/east --cluster=a/b=s3://fleet/east",
            "cluster 'a/b' is not a name of lowercase letters",
        ),
        ("run --config /nowhere", "/nowhere"),
        ("run --listen here", "'here' is not HOST:PORT"),
    ],
)
def test_other_mistakes_are_one_line(bridge: Run, command: str, said: str) -> None:
    _is_error(bridge, command, said)


def _is_error(run: Run, command: str, said: str) -> None:
    answer = run(*shlex.split(command))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    assert said in answer.stderr


def test_a_baseline_is_of_one_source(bridge: Run, tmp_path: Path) -> None:
    """One file of several sources would hide a problem of the one that the other has."""
    file = tmp_path / "known.json"
    for options in (("--baseline", file), ("--baseline", file, "--write-baseline")):
        answer = bridge("problems", "--kubeconfig", tmp_path / "none", "--context", "a", "--context", "b", *options)
        assert (answer.returncode, answer.stderr) == (
            2,
            "error: --baseline has the problems of one source: give one --context or --cluster\n",
        )
    assert not file.exists()
