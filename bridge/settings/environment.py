"""Variables of the environment that resemble settings and are unknown."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import structlog

from bridge.opa.executable.catalog import OPA
from bridge.opa.executable.releases import DOWNLOADS, PREFER_GO
from bridge.settings.model import PREFIX, Settings

log = structlog.get_logger(__name__)

_SETTINGS = {PREFIX + name.upper() for name in Settings.__struct_fields__}
_TOOLS = {*OPA.variables, "BRIDGE_CACHE", "BRIDGE_PLUGIN_HOME", DOWNLOADS, PREFER_GO}
_TESTS = {"BRIDGE_CHROMIUM", "BRIDGE_HELM", "BRIDGE_PROMTOOL"}
# Variables that Kubernetes sets in a pod for Services called `bridge`, or `bridge-…`.
_SERVICE = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")  # the value of its variable `…_PORT`


class Unknown(NamedTuple):
    """An unknown variable, and a similar known one, or ""."""

    variable: str
    near: str

    def __str__(self) -> str:
        near = f"; did you mean {self.near}?" if self.near else ""
        return f"environment {self.variable}: there is no such setting{near}"


def of_a_service(variable: str, value: str) -> bool:
    """Return whether Kubernetes has set this variable for a Service."""
    return bool(_SERVICE.fullmatch(variable) or (variable.endswith("_PORT") and _SERVICE_URL.match(value)))


def unknown_variables(environ: Mapping[str, str] = os.environ) -> Iterator[Unknown]:
    """Return variables with the prefix of settings that are unknown, by name."""
    known = _SETTINGS | _TOOLS
    for variable, value in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable not in known | _TESTS and not of_a_service(variable, value):
            # Compared without the common prefix, which would make everything similar.
            names = {one.removeprefix(PREFIX): one for one in sorted(known)}
            near = difflib.get_close_matches(variable.removeprefix(PREFIX), names, n=1)
            yield Unknown(variable, names[near[0]] if near else "")


def warn_of_variables(environ: Mapping[str, str] = os.environ) -> None:
    """Log them."""
    for variable, near in unknown_variables(environ):
        log.warning("a variable of the environment is no setting and sets nothing", variable=variable, near=near)
