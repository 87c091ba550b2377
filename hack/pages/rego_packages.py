"""The entry points of the shipped Rego, in the page that explains its packages."""

import json
import subprocess
from pathlib import Path
from typing import Any

from bridge.files import rego_root
from hack.tools import ensure


def rego_page(page: str) -> str:
    """Return the page with the current entry points."""
    command: list[str | Path] = [ensure("opa").path, "inspect", "--annotations", "--format", "json", "rego"]
    output = subprocess.run(command, cwd=rego_root().parent, capture_output=True, check=True).stdout
    found = [one for one in json.loads(output)["annotations"] if one["annotations"].get("entrypoint")]
    sections = {_path(one): _section(one) for one in found}
    return page.partition("\n### ")[0] + "".join(text for _, text in sorted(sections.items()))


def _path(one: dict[str, Any]) -> str:
    return "/".join(str(part["value"]) for part in one["path"][1:])


def _section(one: dict[str, Any]) -> str:
    annotations, place = one["annotations"], one["location"]
    more = "".join(f"\n\n*{name}*: {annotations[name]}" for name in ("scope",) if annotations[name] != "document")
    about = annotations.get("description", annotations.get("title", "")).strip()
    return f"\n### `{_path(one)}`\n\n{about}{more}\n\n[{place['file']}](../../{place['file']})\n"
