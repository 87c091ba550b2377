"""The shipped Rego and presets as a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from bridge.opa.bundle import Bundle, build_bundle


def shipped_bundle(root: Path) -> Bundle:
    """The modules below `root` (tests left out), with the presets of policy kinds as `data.bridge.presets`.

    It owns its packages alone: `bridge.strategies` and `bridge.extensions` are for modules that others load.
    """
    modules = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.rego"))
        if not path.name.endswith("_test.rego")
    }
    presets = {path.stem: _preset(path) for path in sorted((root / "bridge/kinds/presets").glob("*.yaml"))}
    packages = {"/".join(path.removesuffix(".rego").split("/")[:2]) for path in modules}
    return build_bundle(modules, {"bridge": {"presets": presets}}, packages | {"bridge/presets"})


def _preset(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]
