"""What the shipped Rego says of its entry points, as OPA reads it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from bridge.resources import rego_root
from bridge.tools import ensure

_HEAD = """# Entry points of the Rego

<!-- made by `make reference` from the annotations in rego/ -->

What other programs may ask: `POST /v1/data/` and the path, with `{"input": …}`. [Queries](queries.md) has the
inputs and results in full. Other rules are no contract; they may change with any version.
"""


def rego_page() -> str:
    """The page."""
    command: list[str | Path] = [ensure("opa").path, "inspect", "--annotations", "--format", "json", "rego"]
    told = subprocess.run(command, cwd=rego_root().parent, capture_output=True, check=True).stdout
    found = [one for one in json.loads(told)["annotations"] if one["annotations"].get("entrypoint")]
    sections = {_path(one): _section(one) for one in found}
    return _HEAD + "".join(text for _, text in sorted(sections.items()))


def _path(one: dict[str, Any]) -> str:
    return "/".join(str(part["value"]) for part in one["path"][1:])


def _section(one: dict[str, Any]) -> str:
    annotations, place = one["annotations"], one["location"]
    more = "".join(f"\n\n*{name}*: {annotations[name]}" for name in ("scope",) if annotations[name] != "document")
    about = annotations.get("description", annotations.get("title", "")).strip()
    return f"\n## `{_path(one)}`\n\n{about}{more}\n\n[{place['file']}](../../{place['file']})\n"
