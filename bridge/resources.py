"""Paths of the files of the package: the shipped Rego with its presets, the bridge's CRDs, the page of reasons."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def rego_root() -> Path:
    """Return the folder with `bridge/` of the shipped Rego, and `system/`, OPA's own policy.

    An installed wheel has it as `bridge/rego`; in a working copy it is next to the package.

    Raises FileNotFoundError if neither exists: the installation is broken.
    """
    for candidate in (_PACKAGE / "rego", _PACKAGE.parent / "rego"):
        if (candidate / "bridge").is_dir():
            return candidate
    raise FileNotFoundError(f"the shipped Rego is missing beside {_PACKAGE}: install policy-bridge again")


def authorization_policy() -> str:
    """Return the Rego of OPA's authorization: a separate file for OPA, never part of a bundle."""
    return (rego_root() / "system" / "authz" / "authz.rego").read_text(encoding="utf-8")


def outside_access_rules() -> Path:
    """Return the file with the Rego that finds modules whose schemas OPA would fetch; never part of a bundle."""
    return rego_root() / "checks" / "outside_access.rego"


def crds_root() -> Path:
    """Return the folder with the bridge's own CRDs, one YAML file each.

    Raises FileNotFoundError if it does not exist: the installation is broken.
    """
    for candidate in (_PACKAGE / "crds", _PACKAGE.parent / "deploy" / "crds"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the CRDs are missing beside {_PACKAGE}: install policy-bridge again")


def reasons_page() -> Path:
    """Return the page of the documentation that explains every reason.

    Raises FileNotFoundError if it does not exist: the installation is broken.
    """
    for candidate in (_PACKAGE / "reasons.md", _PACKAGE.parent / "docs" / "reference" / "reasons.md"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"the page of reasons is missing beside {_PACKAGE}: install policy-bridge again")
