"""The generated module by which shipped Rego reaches the policies of Constraints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

FILE = "bridge/constraints/dispatch.rego"  # where it stands in the bundle
Package = tuple[str, ...]  # from the root of OPA's data
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A rule's head begins its line. A function of that name is no policy.
_VIOLATION = re.compile(r"^[ \t]*(?:default[ \t]+)?violation\b(?![ \t]*\()", re.MULTILINE)


def dispatcher(modules: Iterable[tuple[Package, str]]) -> str:
    """The module `bridge.constraints.dispatch` for the packages among these modules that have rules `violation`.

    `modules` are admins', each with its package. A Constraint names a policy as its module declares the package
    (`k8s.limits`, `acme["memory-limits"]`). Rego cannot refer to a package by a name that it has as data, but to a
    rule's key it can.
    """
    names = sorted({_name(package) for package, text in modules if _VIOLATION.search(text)})
    listed = ", ".join(map(json.dumps, names))
    rules = [f"violations[{json.dumps(name)}] := data.{name}.violation" for name in names]
    policies = f"policies := {{{listed}}}" if names else "policies := set()"
    return "\n\n".join(["package bridge.constraints.dispatch", policies, *rules]) + "\n"


def _name(package: Package) -> str:
    first, *others = package
    return first + "".join(f".{part}" if _PLAIN.fullmatch(part) else f"[{json.dumps(part)}]" for part in others)
