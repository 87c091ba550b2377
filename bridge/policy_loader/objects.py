"""Objects of policy authors as submissions: ConfigMaps and RegoPolicies.

ConfigMaps have Rego and data, with the labels and the layout of kube-mgmt:

openpolicyagent.org/policy=rego   each key of .data is one module, whatever its name
    openpolicyagent.org/data=opa      each key of .data is one document, at data.<namespace>.<name>.<key>

With both labels it is data, as in kube-mgmt. Unlike kube-mgmt, YAML is accepted too, and any JSON value besides
objects. RegoPolicies (`deploy/crds/regopolicies.yaml`) have modules, and tests that run before these are served.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.nesting import MAX_DEPTH, decode
from bridge.model.selection import Selection
from bridge.policy_loader.submissions import ModuleProblem, Submission
from bridge.sources.yaml import BrokenDocument, read_documents


@dataclass(frozen=True, slots=True)
class Reading:
    """An object's content. With `problems` the submission must not be loaded.

    `policy` means that the object has policies, and not only data.
    """

    submission: Submission
    policy: bool
    problems: tuple[ModuleProblem, ...] = ()


def field_of(obj: Object, name: str) -> Any:
    """Return a field as plain values, whether the object is parsed or not; None if it is missing or invalid."""
    value = obj.get(name)
    try:
        return decode(value) if isinstance(value, msgspec.Raw) else value
    except msgspec.DecodeError:
        return None


def created_at(obj: Object) -> str:
    """Return the creationTimestamp, "" if there is none."""
    return str(obj["metadata"].get("creationTimestamp") or "")


def version_of(content: Mapping[str, Any]) -> str:
    """Return a version of this content, which changes only with the content."""
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]


def flaw(message: str, *, code: str, file: str = "", line: int = 0) -> ModuleProblem:
    """Return a problem that was found before the check of the Rego."""
    return ModuleProblem(file, line, 0, code, message)


CONFIG_MAP = "core/ConfigMap"
POLICY_LABEL = ("openpolicyagent.org/policy", "rego")
DATA_LABEL = ("openpolicyagent.org/data", "opa")
ALL_NAMESPACES = "*"


def config_maps_in(namespaces: Collection[str]) -> Selection:
    """Return the watched ConfigMaps. Not by label: two labels count, and removing a label is a change like others."""
    return Selection() if ALL_NAMESPACES in namespaces else Selection(namespaces=tuple(dict.fromkeys(namespaces)))


def read_config_map(key: Key, obj: Object, namespaces: Collection[str]) -> Reading | None:
    """Return a ConfigMap's submission; None if its namespace or its labels exclude it."""
    labels = obj["metadata"].get("labels") or {}
    is_data = labels.get(DATA_LABEL[0]) == DATA_LABEL[1]
    is_policy = not is_data and labels.get(POLICY_LABEL[0]) == POLICY_LABEL[1]
    if not (is_data or is_policy) or not ({ALL_NAMESPACES, key.namespace} & set(namespaces)):
        return None
    data, binary = (_mapping(obj, name) for name in ("data", "binaryData"))
    if data is None or binary is None:
        problem = flaw("its data is no mapping of names to texts", code="no_text")
        return Reading(Submission(key, ""), is_policy, (problem,))
    version = version_of({"data": data, "binary": binary, "role": "data" if is_data else "policy"})
    problems = [
        flaw(
            "it is under binaryData, which is for what is not a string: put it under data",
            code="binary_data",
            file=name,
        )
        for name in binary
    ]
    problems += [
        flaw("its value is not a string: put it between quotes", code="no_text", file=str(name))
        for name, value in data.items()
        if not isinstance(value, str)  # the API server accepts no other; a folder may have one
    ]
    if not data and not binary:
        what = "document" if is_data else "module"
        problems.append(flaw(f"it has no {what}: each key of its data would be one", code="empty"))
    if problems:
        return Reading(Submission(key, version), is_policy, tuple(problems))
    if is_policy:
        return Reading(Submission(key, version, modules=data, created=created_at(obj)), is_policy)
    documents, flaws = _documents(data)
    return Reading(
        Submission(key, version, data={(key.namespace, key.name): documents}, created=created_at(obj)),
        is_policy,
        tuple(flaws),
    )


def _documents(data: Mapping[str, str]) -> tuple[dict[str, Any], list[ModuleProblem]]:
    documents: dict[str, Any] = {}
    problems: list[ModuleProblem] = []
    for name, text in data.items():
        found = _document(name, text)
        if isinstance(found, ModuleProblem):
            problems.append(found)
        else:
            documents[name] = found[0]
    return documents, problems


def _document(name: str, text: str) -> tuple[Any] | ModuleProblem:
    try:
        return (decode(text, most=MAX_DEPTH),)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass  # its reason has no line, and YAML is a superset of JSON
    documents = list(read_documents(text))
    if not documents:
        return flaw("it is empty: write null where that is meant", code="data_parse_error", file=name, line=1)
    first = documents[0]
    if isinstance(first, BrokenDocument):
        return flaw(first.reason, code="data_parse_error", file=name, line=first.line)
    if len(documents) > 1:
        line = documents[1].line
        return flaw("a second document begins: give each a key", code="data_parse_error", file=name, line=line)
    if not isinstance(first.value, dict | list):
        # Plain words are YAML too: Rego under the wrong label, or a string without quotes.
        reason = "neither JSON nor a mapping or list in YAML; a text stands between quotes"
        return flaw(reason, code="data_parse_error", file=name, line=first.line)
    try:
        msgspec.json.encode(first.value)
    except UnicodeEncodeError:
        return flaw("it has half a surrogate pair, which is not a string", code="data_parse_error", file=name)
    return (first.value,)


def _mapping(obj: Object, name: str) -> dict[str, Any] | None:
    found = field_of(obj, name) or {}
    return found if isinstance(found, dict) else None


REGO_POLICY = "policybridge.io/RegoPolicy"
_NAME = re.compile(r"[-._a-zA-Z0-9]{1,253}")  # the same as for a ConfigMap's keys


def read_rego_policy(key: Key, obj: Object) -> Reading:
    """Return a RegoPolicy's submission. It checks the CRD's schema too, because a folder has no API server."""
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


def _problems_of(field: str, value: Any) -> list[ModuleProblem]:
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
