"""What read commands report about input that they cannot read."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.cli.reading import _report_faults
from bridge.model.changes import Trouble
from bridge.offline.engine import Engine

GATEWAY_API = "gateway.networking.k8s.io"


def reported(
    capsys: pytest.CaptureFixture[str], problems: list[Trouble], rejected: tuple[Trouble, ...] = ()
) -> list[str]:
    engine: Any = SimpleNamespace(problems=problems, rejected=list(rejected))
    assert _report_faults(cast(Engine, engine)) == bool(problems)
    return capsys.readouterr().err.splitlines()


def test_types_that_a_user_may_not_read_are_one_line_in_words_of_effects(capsys: pytest.CaptureFixture[str]) -> None:
    types = [f"{GATEWAY_API}/{kind}" for kind in ("Gateway", "ReferenceGrant", "TLSRoute", "UDPRoute")]
    types += ["core/ConfigMap", "policybridge.io/RegoPolicy", "example.com/ColorPolicy", "example.com/TimeoutPolicy"]
    (line,) = reported(capsys, [Trouble(one, "403", forbidden=True) for one in types])
    assert line.startswith("error: you may read no Gateways, ReferenceGrants, other routes, Rego of admins, policies: ")
    assert "--opa URL" in line
    assert "rejected" not in line


def test_types_that_a_user_may_read_in_a_namespace_are_named_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    routes = Trouble(f"{GATEWAY_API}/HTTPRoute", "403", forbidden=True, namespaces=("shop",))
    color = Trouble("example.com/ColorPolicy", "403", forbidden=True, namespaces=("shop",))
    (line,) = reported(capsys, [routes, color, Trouble("example.com/TimeoutPolicy", "403", forbidden=True)])
    assert line.startswith("error: you may read HTTPRoutes, policies only in namespace shop, and no other policies: ")


def test_rejected_rego_and_other_problems_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Trouble("shop/10.yaml:1", "document 1: no kind")]
    rejected = (Trouble("core/ConfigMap/team/rego", "does not compile"),)
    assert reported(capsys, problems, rejected) == [
        "error: shop/10.yaml:1: document 1: no kind",
        (
            "warning: Rego of core/ConfigMap/team/rego was rejected and is not included in this result "
            "(`pbctl get modules` shows why)"
        ),
    ]
