"""Bundles as the loader serves them, for tests that submit Rego without a loader."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from bridge.files import rego_root
from bridge.opa.bundle import Bundle, build_bundle
from bridge.opa.shipped import shipped
from bridge.policy_loader.assembly import DISPATCH_FILE, dispatcher

_PACKAGE = re.compile(r"^package ([\w.]+)$", re.MULTILINE)


def bundle_with(texts: Iterable[str], bounds: Mapping[str, int] = MappingProxyType({})) -> Bundle:
    """The shipped modules and these, and what a Constraint reaches them by; with other bounds on policies, if given."""
    found = shipped(rego_root(), bounds)
    policies = [(_package_of(text), text) for text in texts]
    modules = {**found.modules, DISPATCH_FILE: dispatcher(policies)}
    modules |= {f"admins/{number}.rego": text for number, (_, text) in enumerate(policies)}
    return build_bundle(modules, found.data, found.roots | {"/".join(package) for package, _ in policies})


def _package_of(text: str) -> tuple[str, ...]:
    package = _PACKAGE.search(text)
    assert package, text
    return tuple(package[1].split("."))
