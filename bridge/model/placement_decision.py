"""Placement: the kinds of objects to place, a decision on one object, and the annotations that follow from it.

A decision is the result of the admins' Rego for an object as `input`: `{annotations, errors, warnings}`, each optional;
other fields are ignored. Admission and remediation read it in the same way, so an object that was placed at its
creation is not placed differently later.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from bridge.model.nesting import MAX_DEPTH, decode

Mode = Literal["Off", "Report", "Write"]
Path = tuple[str, ...]  # of a document, from the root of OPA's data
DEFAULT_DECISION = "io/k8s/federation/admission"


@dataclass(frozen=True, slots=True)
class Placed:
    """One kind (`<group>/<Kind>`) whose objects are placed.

    Mode Write writes differences, Report only logs them, and Off ignores the entry.
    """

    type_id: str
    mode: Mode
    decision: Path


def decision_path(text: str) -> Path:
    """Return a document's path from any of its forms: `/v1/data/a/b`, `a/b`, `data.a.b`.

    Raises ValueError for a text that is not a document's path.
    """
    body = text.removeprefix("/v1/data").strip("/")
    parts = tuple(body.split("/" if "/" in body else "."))
    parts = parts[1:] if parts[0] == "data" and len(parts) > 1 else parts
    if not all(parts) or any(character in body for character in ' \t\n"?#'):
        raise ValueError(f"{text!r} is not a decision: write the path of a document, such as {DEFAULT_DECISION}")
    return parts


class DecisionError(ValueError):
    """A decision of another form than `{annotations, errors, warnings}`; the text has the cause."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The desired annotations of an object; with `errors` the object is denied, and no annotations are set.

    `patches` are operations of a JSON Patch (RFC 6902) on the object.
    """

    annotations: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    patches: tuple[Mapping[str, Any], ...] = ()


def read_decision(result: Any) -> Decision:
    """Read OPA's result.

    `annotations` maps names to values of any type, `errors` and `warnings` are lists (sets, in Rego) of messages, or
    one message. A missing or null field counts as empty. Raises DecisionError for anything else.
    """
    if not isinstance(result, Mapping):
        raise DecisionError(f"the decision is {_named(result)}, not an object with annotations, errors or warnings")
    annotations = result.get("annotations")
    if not isinstance(annotations, Mapping | None):
        raise DecisionError(f"`annotations` of the decision is {_named(annotations)}, not a map of strings")
    return Decision(
        {name: annotation_text(value) for name, value in (annotations or {}).items()},
        _messages(result, "errors"),
        _messages(result, "warnings"),
    )


def read_review_decision(result: Any) -> Decision:
    """Read OPA's result for a whole AdmissionReview, in one of the forms that Rego for the API server has.

    A list (a set, in Rego) of messages denies unless it is empty; a message of another type is written as JSON. An
    AdmissionReview has `response.allowed`, with `status`, `warnings` and `patch` (JSON Patch, also base64). Other
    objects have the fields of `read_decision`, and `deny`, `patches`. Raises DecisionError for anything else.
    """
    match result:
        case list(messages):
            return Decision(errors=tuple(map(annotation_text, messages)))
        case {"response": Mapping() as response}:
            return _read_response(response)
        case Mapping():
            decision = read_decision(result)
            denied = (*decision.errors, *_messages(result, "deny"))
            return replace(decision, errors=denied, patches=_read_patches(result.get("patches")))
    raise DecisionError(f"the decision is {_named(result)}, not a list of messages, an AdmissionReview or an object")


def _read_response(response: Mapping[str, Any]) -> Decision:
    allowed = response.get("allowed")
    if not isinstance(allowed, bool):
        raise DecisionError(f"`response.allowed` of the decision is {_named(allowed)}, not a boolean")
    warnings = _messages(response, "warnings")
    if not allowed:
        status = response.get("status")
        told = status if isinstance(status, Mapping) else {}
        message = str(told.get("message") or told.get("reason") or "denied without a message")
        return Decision(errors=(message,), warnings=warnings)
    return Decision(warnings=warnings, patches=_read_patches(response.get("patch")))


# What each operation of RFC 6902 needs besides `op` and `path`.
_OPERATIONS = {"add": "value", "copy": "from", "move": "from", "remove": "", "replace": "value", "test": "value"}


def _read_patches(given: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the operations of a JSON Patch: a list, or its JSON in base64.

    Raises DecisionError for one that is not valid: of such a patch, an API server would report an internal error.
    """
    found = given
    if isinstance(given, str):
        try:
            found = decode(base64.b64decode(given, validate=True), most=MAX_DEPTH) if given else []
        except (ValueError, msgspec.DecodeError) as error:
            raise DecisionError(f"the patch of the decision is not JSON in base64: {error}") from error
    if found is None:
        return ()
    if not isinstance(found, list):
        raise DecisionError(f"the patch of the decision is {_named(found)}, not a list of operations")
    for number, operation in enumerate(found, 1):
        if flaw := _find_flaw(operation):
            raise DecisionError(f"operation {number} of the decision's patch {flaw}")
    return tuple(found)


def _find_flaw(operation: Any) -> str:
    if not isinstance(operation, Mapping):
        return f"is {_named(operation)}, not an object with op and path"
    op = operation.get("op")
    if not isinstance(op, str) or op not in _OPERATIONS:
        return f"has the op {json.dumps(op)}: write one of {', '.join(_OPERATIONS)}"
    needed = _OPERATIONS[op]
    if needed == "value" and "value" not in operation:
        return f"has no value, which {op} needs"
    for name in ("path", needed) if needed == "from" else ("path",):
        at = operation.get(name)
        if not isinstance(at, str) or at[:1] not in {"", "/"}:
            return f"has the {name} {json.dumps(at)}: write a JSON pointer, such as /metadata/labels"
    return ""


def annotation_text(value: Any) -> str:
    """Return a value in the form of an annotation: a string unchanged, others as JSON (compact, names in order)."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def differing(current: Mapping[str, Any] | None, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations to add to `current` for an object to have `wanted`; empty if it has them.

    `wanted` is merged over the object's annotations: equal names are replaced, and no annotation is ever removed.
    """
    return {name: value for name, value in wanted.items() if (current or {}).get(name) != value}


def _messages(result: Mapping[str, Any], name: str) -> tuple[str, ...]:
    match result.get(name):
        case None:
            return ()
        case str(message):
            return (message,)
        case list(messages):
            return tuple(annotation_text(message) for message in messages)
        case other:
            # `errors[message] if …` from before OPA 1.0 is an object today.
            wrong = f"`{name}` of the decision is {_named(other)}, not a list of messages"
            raise DecisionError(f"{wrong}: write `{name} contains message if …`")


def _named(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")
