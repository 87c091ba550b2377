"""What a placement decision says of one object, and the annotations that it comes to. Pure.

The decision is whatever the admins' Rego gives for an object as `input`: `{annotations, errors, warnings}`, each of
them optional, and others beside them that nobody reads here. Admission and remediation read it alike, so that an object
that was placed when it was made is not placed otherwise afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class DecisionError(ValueError):
    """A decision of another form than `{annotations, errors, warnings}`; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The annotations that an object should have; with `errors` it should not be, and none are to be set."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_decision(result: Any) -> Decision:
    """Read what OPA answered.

    `annotations` maps names to values of any type, `errors` and `warnings` are lists (sets, in Rego) of messages, or
    one message. A field that is missing or null says nothing. Raises DecisionError for anything else.
    """
    if not isinstance(result, Mapping):
        raise DecisionError(f"the decision is {_named(result)}, no object with annotations, errors or warnings")
    annotations = result.get("annotations")
    if not isinstance(annotations, Mapping | None):
        raise DecisionError(f"`annotations` of the decision is {_named(annotations)}, no object of names and values")
    return Decision(
        {name: annotation_text(value) for name, value in (annotations or {}).items()},
        _messages(result, "errors"),
        _messages(result, "warnings"),
    )


def annotation_text(value: Any) -> str:
    """A value as an annotation has it: a string as it is, anything else as JSON (compact, names in order)."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def differing(shown: Mapping[str, Any] | None, wanted: Mapping[str, str]) -> dict[str, str]:
    """The annotations to set on an object that shows `shown`, so that it has `wanted` too; empty where it has them.

    `wanted` is merged over what the object has: equal names are replaced, and no annotation is ever taken away.
    """
    return {name: value for name, value in wanted.items() if (shown or {}).get(name) != value}


def _messages(result: Mapping[str, Any], name: str) -> tuple[str, ...]:
    match result.get(name):
        case None:
            return ()
        case str(message):
            return (message,)
        case list(messages):
            return tuple(annotation_text(message) for message in messages)
        case other:
            # `errors[message] if …` of before OPA 1.0 is an object today.
            wrong = f"`{name}` of the decision is {_named(other)}, no list of messages"
            raise DecisionError(f"{wrong}: write `{name} contains message if …`")


def _named(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")
