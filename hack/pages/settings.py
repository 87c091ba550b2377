"""The table of the settings of `pbctl run`, from their types, in the page that explains it."""

import json
import re
import types
import typing
from typing import Any, Literal, get_args, get_origin

from bridge.settings.model import SETTINGS

_RULE = "|---|---|---|---|---|\n"  # below the head of the table


def settings_page(page: str) -> str:
    """Return the page with the current table."""
    rows = [
        f"| `{one.name}` | {_option(one.option)} | {_type(one.type)} | {_default(one.default)} | {_escaped(one.text)} |"
        for one in SETTINGS.values()
    ]
    before, _, after = page.partition(_RULE)
    return before + _RULE + "\n".join(rows) + "\n\n" + after.partition("\n\n")[2]


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(_type(one) for one in arguments if one is not type(None))
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in arguments)
    names = {str: "string", int: "integer", float: "number", bool: "true or false"}
    return names.get(hint) or _words(hint.__name__)


def _words(name: str) -> str:
    """`TypeSettings` is an entry of the setting `types`."""
    return f"entry ({re.sub(r'(?<!^)(?=[A-Z])', ' ', name).lower()})"


def _option(option: str) -> str:
    return f"`{option}`" if option else ""


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|")


def _default(value: Any) -> str:
    if value is None:
        return "none"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"
