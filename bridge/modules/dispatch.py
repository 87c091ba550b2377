"""The generated module by which shipped Rego reaches the policies of Constraints."""

from __future__ import annotations

import json
from collections.abc import Iterable

FILE = "bridge/constraints/dispatch.rego"  # where it stands in the bundle


def dispatcher(packages: Iterable[str]) -> str:
    """The module `bridge.constraints.dispatch` for these packages, each of which defines `violation`.

    A package is named as its module declares it (`k8s.limits`, `acme["memory-limits"]`), and by that text a Constraint
    names its policy. Rego cannot refer to a package by a name that it has as data, but to a rule's key it can.
    """
    names = sorted(set(packages))
    listed = ", ".join(map(json.dumps, names))
    rules = [f"violations[{json.dumps(name)}] := data.{name}.violation" for name in names]
    policies = f"policies := {{{listed}}}" if names else "policies := set()"
    return "\n\n".join(["package bridge.constraints.dispatch", policies, *rules]) + "\n"
