"""RegoPolicy objects as authors (`deploy/crds/regopolicies.yaml`): modules, and tests that are run before that."""

from __future__ import annotations

import re
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.modules.readings import Reading, created_at, field_of, flaw, version_of
from bridge.modules.submissions import Problem, Submission

REGO_POLICY = "policybridge.io/RegoPolicy"
_NAME = re.compile(r"[-._a-zA-Z0-9]{1,253}")  # as a ConfigMap's keys


def read_rego_policy(key: Key, obj: Object) -> Reading:
    """What a RegoPolicy hands in. What the CRD's schema refuses is found here too: a folder has no API server."""
    spec = field_of(obj, "spec")
    version = version_of({"spec": spec})
    if not isinstance(spec, dict):
        problem = flaw("spec is missing: it holds modules, by name", code="invalid_spec")
        return Reading(Submission(key, version), policy=True, problems=(problem,))
    problems = [
        flaw(f"there is no field spec.{name}: there are modules and tests", code="invalid_spec")
        for name in spec
        if name not in {"modules", "tests"}
    ]
    modules, tests = spec.get("modules", {}), spec.get("tests", {})
    problems += _problems_of("modules", modules) + _problems_of("tests", tests)
    if not problems:
        if not modules:
            problems = [flaw("spec.modules has no module", code="invalid_spec")]
        problems += [
            flaw("a module and a test have the same name", code="invalid_spec", file=name)
            for name in modules.keys() & tests.keys()
        ]
    if problems:
        return Reading(Submission(key, version), policy=True, problems=tuple(problems))
    return Reading(Submission(key, version, modules=modules, tests=tests, created=created_at(obj)), policy=True)


def _problems_of(field: str, value: Any) -> list[Problem]:
    if not isinstance(value, dict):
        return [flaw(f"spec.{field} is no map of names to Rego", code="invalid_spec")]
    problems = []
    for name, text in value.items():
        if not _NAME.fullmatch(str(name)):
            reason = f"spec.{field}: the name {name!r} has other signs than letters, digits, dash, dot and underscore"
            problems.append(flaw(reason, code="invalid_spec"))
        elif not isinstance(text, str):
            problems.append(flaw("its value is not a string", code="invalid_spec", file=name))
    return problems
