"""Check the structure of the shipped Rego: `python -m hack.rego_layers rego/bridge`.

Every package of `rego/bridge` has a place in `LAYERS` and may refer only to packages of lower layers. A rule whose
name begins with `_` may be used only in the file that defines it, although in Rego every file of a package sees it.
A query (`# entrypoint: true`) must reach every rule, except those of `lib`, which admins' modules may use.
Test files are not checked.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hack.tools import ensure

if TYPE_CHECKING:
    from collections.abc import Iterator

# Lowest first. Packages of one layer do not refer to each other.
LAYERS = (
    ("lib",),
    ("merge",),
    ("lookup",),
    ("index",),
    ("kinds",),
    ("policy",),
    ("hierarchy",),
    ("attachment",),
    ("scopes",),
    ("effective",),
    ("outcomes",),
    ("status",),
    ("request", "topology", "constraints", "problems"),
    ("admission",),
    ("queries",),
    ("v1",),
)
_LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def main() -> int:
    """Print one line for each violation; exit code 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of package `bridge`")
    found = violations(parser.parse_args().folder)
    for violation in found:
        print(violation, file=sys.stderr)
    return 1 if found else 0


def violations(folder: Path) -> list[str]:
    """Return the violations in the Rego files below `folder`, sorted: `FILE: what`, the file relative to the folder."""
    sources = {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*.rego"))
        if not path.name.endswith("_test.rego")
    }
    modules = _parse(sources)
    packages = {_package(module)[0] for module in modules.values()}
    found = {
        f"{name}: {problem}"
        for name, module in modules.items()
        for problem in (*_upward(module, packages), *_private(module))
    }
    return sorted(found.union(_shared(modules), _unreached(modules, sources)))


def _parse(sources: dict[str, str]) -> dict[str, Any]:
    """Return the syntax tree of every source, as OPA parses it."""
    done = subprocess.run(
        [
            str(ensure("opa").path),
            *("eval", "--format", "raw", "--stdin-input"),
            "{name: rego.parse_module(name, source) | some name, source in input}",
        ],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip() or done.stdout.strip())
    trees: dict[str, Any] = json.loads(done.stdout)
    return trees


def _upward(module: dict[str, Any], packages: set[str]) -> Iterator[str]:
    own = _package(module)[0]
    if own not in _LEVELS:
        yield f"package bridge.{own} has no layer"
        return
    for reference in _references(module):
        if reference[:2] != ["data", "bridge"] or len(reference) < 3:
            continue
        other = reference[2]
        if other == own or other not in packages:
            continue
        if _LEVELS.get(other, len(LAYERS)) >= _LEVELS[own]:
            yield f"bridge.{own} refers to bridge.{other}, which is not in a lower layer"


def _private(module: dict[str, Any]) -> Iterator[str]:
    known = _rule_names(module).union(_arguments(module))
    for name in _variables(module.get("rules", [])):
        if name.startswith("_") and name not in known:
            yield f"{name} is another file's"
    aliases = {item.get("alias") or item["path"]["value"][-1]["value"] for item in module.get("imports", [])}
    for reference in _references(module):
        if reference[0] in {"data", *aliases}:
            for name in reference[1:]:
                if name.startswith("_"):
                    yield f"{'.'.join(reference)} is another package's"


def _shared(modules: dict[str, Any]) -> Iterator[str]:
    """Yield the private rules that several files of one package define: Rego takes them as one rule."""
    owners: dict[tuple[str, ...], list[str]] = {}
    for file, module in modules.items():
        for name in _rule_names(module):
            if name.startswith("_"):
                owners.setdefault((*_package(module), name), []).append(file)
    for (*_, name), files in owners.items():
        for file in files[1:]:
            yield f"{file}: {name} is defined in {files[0]} too"


_ENTRYPOINT = re.compile(r"^# entrypoint: true\n(?:#.*\n)*(?:default )?(\w+)", re.MULTILINE)


def _unreached(modules: dict[str, Any], sources: dict[str, str]) -> Iterator[str]:
    """Yield the rules that no query reaches. By names, so a variable named like a rule counts as its use."""
    uses: dict[tuple[str, str], set[tuple[str, str]]] = {}
    files: dict[tuple[str, str], str] = {}
    waiting = set()
    for file, module in modules.items():
        package = ".".join(_package(module))
        waiting |= {(package, name) for name in _ENTRYPOINT.findall(sources[file])}
        for rule in module.get("rules", []):
            defined = (package, rule["head"]["ref"][0]["value"])
            files.setdefault(defined, file)
            uses.setdefault(defined, set()).update(_uses({**module, "rules": [rule]}))
    if not waiting:
        return  # a part of the packages
    waiting |= {rule for rule in uses if rule[0].split(".")[0] == "lib"}
    while waiting:
        waiting |= uses.pop(waiting.pop(), set())
    for rule in uses:
        yield f"{files[rule]}: no query reaches {rule[1]}"


def _uses(module: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rules that a module may refer to, as package below `data.bridge` and name."""
    own = ".".join(_package(module))
    for name in _variables(module.get("rules", [])):
        yield own, name
    imported = {
        item.get("alias") or path[-1]: ".".join(path[2:])
        for item in module.get("imports", [])
        if (path := [term["value"] for term in item["path"]["value"]])
    }
    for reference in _references(module.get("rules", [])):
        if reference[0] in imported and len(reference) > 1:
            yield imported[reference[0]], reference[1]
        for place in range(3, len(reference)) if reference[0] == "data" else ():
            yield ".".join(reference[2:place]), reference[place]


def _rule_names(module: dict[str, Any]) -> set[str]:
    return {rule["head"]["ref"][0]["value"] for rule in module.get("rules", [])}


def _package(module: dict[str, Any]) -> list[str]:
    """Return the names of a module's package below `data.bridge`; at least one."""
    path = [term["value"] for term in module["package"]["path"]]
    return path[2:] or ["(root)"]


def _arguments(node: Any) -> Iterator[str]:
    """Yield the variables that are arguments of functions."""
    for rule in node.get("rules", []):
        yield from _variables(rule["head"].get("args", []))


def _references(node: Any) -> Iterator[list[str]]:
    """Yield every reference below a node of the tree, its leading constant parts."""
    if isinstance(node, dict):
        if node.get("type") == "ref":
            yield _constant_part(node["value"])
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _constant_part(terms: list[dict[str, Any]]) -> list[str]:
    parts = [str(terms[0]["value"])]
    for term in terms[1:]:
        if term["type"] != "string":
            break
        parts.append(term["value"])
    return parts


def _variables(node: Any) -> Iterator[str]:
    """Yield the name of every variable below a node of the tree."""
    if isinstance(node, dict):
        if node.get("type") == "var":
            yield node["value"]
        for value in node.values():
            yield from _variables(value)
    elif isinstance(node, list):
        for value in node:
            yield from _variables(value)


if __name__ == "__main__":
    sys.exit(main())
