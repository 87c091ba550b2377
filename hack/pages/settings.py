"""The settings of `bridge run`, from their types."""

from __future__ import annotations

import json
import re
import types
import typing
from typing import Any, Literal, get_args, get_origin

import msgspec

from bridge.settings.model import PREFIX, Settings

_HEAD = """# All settings

<!-- made by `make reference` from bridge/settings/model.py -->

Every setting of `bridge run` with its type and default, as the program has them.
[Settings](settings.md) says what they mean.

| file key | environment | type | default |
|---|---|---|---|
"""


def settings_page() -> str:
    """The page."""
    hints = typing.get_type_hints(Settings)
    rows = [
        f"| `{field.name}` | `{PREFIX}{field.name.upper()}` | {_type(hints[field.name])} | {_default(field.default)} |"
        for field in msgspec.structs.fields(Settings)
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(_type(one) for one in arguments if one is not type(None))
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in arguments)
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names.get(hint) or _words(hint.__name__)


def _words(name: str) -> str:
    """`TypeSettings` is an entry of the setting `types`."""
    return f"entry ({re.sub(r'(?<!^)(?=[A-Z])', ' ', name).lower()})"


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if value is msgspec.NODEFAULT:
        return "made at the start"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"
