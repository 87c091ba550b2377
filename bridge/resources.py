"""Where the files that travel with the package are: the shipped Rego with the presets in it, and the bridge's CRDs."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def rego_root() -> Path:
    """The folder that holds `bridge/` of the shipped Rego, and `system/`, what OPA itself is ruled by.

    An installed wheel carries it as `bridge/rego`; in a working copy it stands beside the package.

    Raises FileNotFoundError when neither is there: the installation is broken.
    """
    for candidate in (_PACKAGE / "rego", _PACKAGE.parent / "rego"):
        if (candidate / "bridge").is_dir():
            return candidate
    raise FileNotFoundError(f"the shipped Rego is missing beside {_PACKAGE}: install policy-bridge again")


def authorization_policy() -> str:
    """The Rego by which an OPA decides who may ask it for what: a file of OPA's own, never part of a bundle."""
    return (rego_root() / "system" / "authz" / "authz.rego").read_text(encoding="utf-8")


def crds_root() -> Path:
    """The folder with the bridge's own CRDs, one YAML file each.

    Raises FileNotFoundError when it is not there: the installation is broken.
    """
    for candidate in (_PACKAGE / "crds", _PACKAGE.parent / "deploy" / "crds"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the CRDs are missing beside {_PACKAGE}: install policy-bridge again")
