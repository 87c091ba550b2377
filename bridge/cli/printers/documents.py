"""JSON and YAML output of exact values."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

# Characters that control a terminal or reverse text are escaped.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def print_document(output: str, value: Any) -> None:
    """Print a JSON value as `json` or `yaml`."""
    sys.stdout.write(to_json(value) if output == "json" else to_yaml(value))


def print_objects(output: str, objects: Sequence[Any]) -> None:
    """Print Kubernetes objects: as YAML one document each, as JSON one List."""
    if output == "yaml":
        sys.stdout.write("---\n".join(to_yaml(one) for one in objects))
    else:
        print_document(output, {"apiVersion": "v1", "kind": "List", "items": list(objects)})


def to_json(value: Any) -> str:
    """Return indented JSON with a final newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n"


def to_yaml(value: Any) -> str:
    """Return YAML in block style, with the given order of keys, long texts on one line, and no aliases."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library's signature
            return True

    def dumped(*, allow_unicode: bool) -> str:
        text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=allow_unicode, width=1 << 20)
        return text

    text = dumped(allow_unicode=True)
    return dumped(allow_unicode=False) if _UNSEEN.search(text) else text
