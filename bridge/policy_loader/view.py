"""The `kubernetes` view of replicated objects, in the layout of kube-mgmt's users: `data.kubernetes.<plural>`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from bridge.model.keys import CORE

VIEW_FILE = "kubernetes.rego"  # the path of the view in the bundle
VIEW = ("kubernetes",)  # its package
_NAME = re.compile(r"[a-z][a-z0-9]*")  # possible names of rules, in the form of kube-mgmt's users
_RESERVED = {
    "as",
    "contains",
    "data",
    "default",
    "else",
    "every",
    "false",
    "if",
    "import",
    "in",
    "input",
    "not",
    "null",
}
_RESERVED |= {"package", "some", "true", "with"}


def kubernetes_view(plurals: Iterable[tuple[str, str]]) -> str:
    """Return a module with one rule for each type: `data.kubernetes.<plural>[namespace][name]`, or only `[name]`.

    `plurals` are types (`<group>/<Kind>`) with their plural names. Of two types with one name the core group's comes
    first, then Kubernetes' own groups, then the others by name; `data.objects` has the other ones.
    """
    chosen: dict[str, str] = {}
    for type_id, plural in sorted(plurals, key=_rank):
        if _NAME.fullmatch(plural) and plural not in _RESERVED:
            chosen.setdefault(plural, type_id)
    rules = [_rule(plural, *type_id.split("/")) for plural, type_id in sorted(chosen.items())]
    return "\n\n".join(["package kubernetes", *rules]) + "\n"


def _rule(plural: str, group: str, kind: str) -> str:
    # A whole document: a lookup of one object costs as little as by its path, and iteration costs no more.
    objects = f"data.objects[{json.dumps(group)}][{json.dumps(kind)}]"
    return f'{plural} := {objects}["-"] if {{\n\t{objects}["-"]\n}} else := {objects}'


def _rank(named: tuple[str, str]) -> tuple[int, str]:
    group = named[0].partition("/")[0]
    own = "." not in group or group.endswith(".k8s.io")
    return (0 if group == CORE else 1 if own else 2, named[0])
