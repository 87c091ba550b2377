"""The page about the shipped Rego: packages, the rules of GEP-713 and their places, and entry points."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from bridge.files import rego_root
from hack.tools import ensure

PACKAGES = {
    "lib": "Keys, levels of types, leaves, label selectors",
    "merge": "The merge of specs: RFC 7386, keyed lists, admins' strategies",
    "lookup": "Stored objects and facts, with the `changes` of the query applied",
    "index": "Links and facts of each object, and the objects that link to it",
    "kinds": "Policy kinds: presets, CRDs, PolicyKinds, with every default",
    "policy": "Single policies: spec proper, strategy, refs, and their problems",
    "hierarchy": "Valid links, and the paths that they form",
    "attachment": "The verdict on each ref, and the policies attached to a node",
    "scopes": "Effective targets, and which of them are below a target",
    "effective": "Stacks, their order of precedence, effective policies",
    "outcomes": "The outcome of each policy, ancestors, marks",
    "status": "Conditions and messages",
    "request": "Which rule serves a request",
    "topology": "The tree and the picture",
    "constraints": "Constraints and their violations",
    "problems": "Problems that users can fix",
    "admission": "The decision on a request to the API server",
    "queries": "Rules that several queries share",
    "v1": "The queries: the public contract",
}
WHERE = {
    "Higher is established": ("effective/stacks.rego", "stack"),
    "Older, then alphabetical": ("policy/policy.rego", "_order"),
    "The established policy dictates the strategy": ("effective/effective.rego", "_joins"),
    "None": ("attachment/conflict.rego", "conflict"),
    "Atomic defaults": ("effective/effective.rego", "_order"),
    "Patch by RFC 7386": ("merge/merge.rego", "_patch_sides"),
    "Assumed order of strategies": ("merge/merge.rego", "assumed_order"),
    "`defaults` means atomic": ("kinds/discovery.rego", "_wrapper_strategies"),
    "`<Kind>Affected` and its annotation": ("status/affected.rego", "form"),
    "Computing the scopes of a declared target": ("scopes/scopes.rego", "scopes_at_or_below"),
}  # sentences of GEP-713, each with the file below rego/bridge and the rule that implements it

_HEAD = """# The Rego

<!-- `make reference` generates this page from the annotations in rego/ -->

Find the file of a rule, and the entry points that programs can query.

## Packages

Each folder of `rego/bridge` is a package that refers only to packages above it in this table; `make rego-lint` checks
this. A rule whose name begins with `_` is private to its file.

| package | subject |
|---|---|
{packages}

## Where GEP-713's rules are

| rule of GEP-713 | file | Rego rule |
|---|---|---|
{where}

## Entry points

Programs can query these rules: `POST /v1/data/` and the path, with `{{"input": …}}`. [Queries](queries.md) describes
inputs and results in full. All other rules may change with any version.
"""


def rego_page() -> str:
    """Return the page."""
    command: list[str | Path] = [ensure("opa").path, "inspect", "--annotations", "--format", "json", "rego"]
    output = subprocess.run(command, cwd=rego_root().parent, capture_output=True, check=True).stdout
    found = [one for one in json.loads(output)["annotations"] if one["annotations"].get("entrypoint")]
    sections = {_path(one): _section(one) for one in found}
    packages = "\n".join(f"| `{name}` | {subject} |" for name, subject in PACKAGES.items())
    where = "\n".join(
        f"| {sentence} | [{file}](../../rego/bridge/{file}) | `{rule}` |" for sentence, (file, rule) in WHERE.items()
    )
    return _HEAD.format(packages=packages, where=where) + "".join(text for _, text in sorted(sections.items()))


def _path(one: dict[str, Any]) -> str:
    return "/".join(str(part["value"]) for part in one["path"][1:])


def _section(one: dict[str, Any]) -> str:
    annotations, place = one["annotations"], one["location"]
    more = "".join(f"\n\n*{name}*: {annotations[name]}" for name in ("scope",) if annotations[name] != "document")
    about = annotations.get("description", annotations.get("title", "")).strip()
    return f"\n### `{_path(one)}`\n\n{about}{more}\n\n[{place['file']}](../../{place['file']})\n"
