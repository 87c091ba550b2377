"""What read commands report about input that they cannot read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.cli.reading import _report_faults
from bridge.model.changes import Trouble
from bridge.offline.engine import Engine

GATEWAY_API = "gateway.networking.k8s.io"


def forbidden(type_id: str) -> Trouble:
    plural = f"{type_id.rpartition('/')[2].lower()}s"
    return Trouble(type_id, f"reading {plural} is forbidden: grant the bridge get, list and watch on them (403)")


def reported(capsys: pytest.CaptureFixture[str], problems: list[Trouble], warnings: list[Trouble]) -> str:
    engine: Any = SimpleNamespace(problems=problems, warnings=warnings)
    assert _report_faults(cast(Engine, engine)) == bool(problems)
    return capsys.readouterr().err


def test_kinds_that_a_user_may_not_read_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["Gateway", "GatewayClass", "GRPCRoute", "HTTPRoute", "ReferenceGrant", "TLSRoute"]
    problems = [forbidden(f"{GATEWAY_API}/{kind}") for kind in kinds]
    text = reported(capsys, problems, [forbidden("core/ConfigMap")])
    assert text.count("\n") == 1
    assert "you may not read Gateway, GatewayClass, GRPCRoute, HTTPRoute, ReferenceGrant and 2 more" in text
    assert "--opa URL" in text
    assert "rejected" not in text


def test_rejected_rego_and_other_problems_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Trouble("shop/10.yaml:1", "document 1: no kind")]
    warnings = [Trouble("core/ConfigMap/team/rego", "does not compile")]
    assert reported(capsys, problems, warnings).splitlines() == [
        "error: shop/10.yaml:1: document 1: no kind",
        (
            "warning: Rego of core/ConfigMap/team/rego is rejected and not part of this result "
            "(`bridge get modules` shows why)"
        ),
    ]
