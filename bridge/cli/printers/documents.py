"""JSON and YAML: exactly the value, on standard output."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_document(output: str, value: Any) -> None:
    """Print a JSON value as `json` or `yaml`."""
    sys.stdout.write(to_json(value) if output == "json" else to_yaml(value))


def to_json(value: Any) -> str:
    """Indented JSON with a line's end."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def to_yaml(value: Any) -> str:
    """YAML in block style, the keys in their order, long texts on one line, no aliases."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library's signature
            return True

    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text
