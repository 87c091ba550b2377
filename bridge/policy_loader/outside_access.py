"""The ways in which Rego reaches out of OPA, and those that submitted modules may use.

docs/explanation/threat-model.md lists all of OPA's functions. A running OPA fetches the `$ref`s of JSON schemas from
any host (`allow_net` is a setting of `opa check` alone) and from files, so modules with such references are rejected
(rego/checks/outside_access.rego).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

# Functions that send requests, or read the machine.
UNSAFE = frozenset({"http.send", "net.lookup_ip_addr", "opa.runtime"})
# OPA calls a function nondeterministic if something besides its arguments counts: for these a clock or random numbers,
# for those about schemas what the check below excludes. An unknown one may reach out.
_HARMLESS = {
    "io.jwt.decode_verify",
    "io.jwt.encode_sign",
    "io.jwt.encode_sign_raw",
    "json.match_schema",
    "json.verify_schema",
    "rand.intn",
    "time.now_ns",
    "uuid.rfc4122",
}
IN_CALL = "OPA would fetch the references of a schema: write the schema as an object in the call, without $ref"
IN_ANNOTATION = "OPA would fetch the references of a schema: write the schema without $ref"
ANNOTATION = "METADATA"  # begins every annotation; YAML has many ways to write the rest
_USES = re.compile(r"(match|verify)_schema|\\u")


def refused_builtins(capabilities: Mapping[str, Any], allowed: Collection[str]) -> frozenset[str]:
    """Return the functions of OPA's capabilities that modules may not call, except `allowed` ones."""
    outside = {one["name"] for one in capabilities["builtins"] if one.get("nondeterministic")}
    return (UNSAFE | (outside - _HARMLESS)) - set(allowed)


def may_use_schemas(text: str) -> bool:
    """Return whether a module may call functions with schemas; their names may have escapes."""
    return bool(_USES.search(text))


def line_of_use(text: str) -> int:
    """Return the first line that may call such a function."""
    found = _USES.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def has_reference(value: Any) -> bool:
    """Return whether a value contains a reference to a JSON schema."""
    if isinstance(value, dict):
        return "$ref" in value or any(map(has_reference, value.values()))
    return isinstance(value, list) and any(map(has_reference, value))
