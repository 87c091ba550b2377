"""YAML by libyaml where PyYAML has it: Gateway API's CRDs take a tenth of the time."""

from collections.abc import Iterator
from typing import Any

import yaml

_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str) -> Any:
    """Return the only document in a text."""
    return yaml.load(text, _LOADER)  # noqa: S506 - a safe loader


def load_all(text: str) -> Iterator[Any]:
    """Yield the documents in a text."""
    return yaml.load_all(text, _LOADER)
