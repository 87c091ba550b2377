"""What read commands report about input that they cannot read."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.cli.reading import _report_faults
from bridge.model.changes import Trouble
from bridge.model.types import CRD, POLICY_KIND
from bridge.offline.engine import Engine

GATEWAY_API = "gateway.networking.k8s.io"


def reported(
    capsys: pytest.CaptureFixture[str], problems: list[Trouble], rejected: tuple[Trouble, ...] = ()
) -> list[str]:
    engine: Any = SimpleNamespace(problems=problems, rejected=list(rejected))
    assert _report_faults(cast(Engine, engine)) == bool(problems)
    return capsys.readouterr().err.splitlines()


KINDS = ("Gateway", "ListenerSet", "GatewayClass", "ReferenceGrant", "HTTPRoute", "TLSRoute", "UDPRoute")
NEXT = "`pbctl doctor` lists missing permissions. If a bridge runs, --opa URL has all results."


@pytest.mark.parametrize(
    ("unread", "partly", "line"),
    [
        (["Gateway"], [], "Incomplete: you can't read Gateways"),
        (["Gateway", "ReferenceGrant"], [], "Incomplete: you can't read Gateways or ReferenceGrants"),
        ([], ["HTTPRoute"], "Incomplete: you can't read other namespaces"),
        (["Gateway"], ["HTTPRoute"], "Incomplete: you can't read Gateways or other namespaces"),
        (KINDS, [], "Incomplete: you can't read Gateways, ListenerSets or 4 other types"),
    ],
)
def test_first_line_names_unreadable_types(
    capsys: pytest.CaptureFixture[str], unread: list[str], partly: list[str], line: str
) -> None:
    forbidden = [Trouble(f"{GATEWAY_API}/{kind}", "403", forbidden=True) for kind in unread]
    forbidden += [Trouble(f"{GATEWAY_API}/{kind}", "403", forbidden=True, namespaces=("shop",)) for kind in partly]
    problem = Trouble("shop/10.yaml:1", "document 1: no kind")
    assert reported(capsys, [problem, *forbidden]) == [line, NEXT, "error: shop/10.yaml:1: document 1: no kind"]
    assert len(line) <= 80


@pytest.mark.parametrize("unread", [CRD, POLICY_KIND])
def test_policies_of_unknown_kinds_are_said_to_be_missing(capsys: pytest.CaptureFixture[str], unread: str) -> None:
    assert reported(capsys, [Trouble(unread, "403", forbidden=True)]) == [
        "Incomplete: you can't read policy CRDs",
        f"Policies of kinds without a preset are missing. {NEXT}",
    ]


def test_rejected_rego_and_other_problems_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Trouble("shop/10.yaml:1", "document 1: no kind")]
    rejected = (Trouble("core/ConfigMap/team/rego", "does not compile"),)
    assert reported(capsys, problems, rejected) == [
        "error: shop/10.yaml:1: document 1: no kind",
        "warning: rejected Rego is not included in this result: ConfigMap/team/rego (`pbctl get modules` shows why)",
    ]
