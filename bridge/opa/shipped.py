"""The bridge's own modules and data: the shipped Rego, presets and schemas; all of it, or what some queries reach.

For a command, the Rego is prepared so that it loads only the rules that its queries reach. The preparation is a file in
the cache, named by a hash of the Rego and the presets. It follows names in the formatted text: a name that is only
mentioned counts as used, so too many rules may be loaded, never too few. A test compares it with the names that OPA's
parser finds.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

from bridge.files import crds_root, rego_root, released_fields, write_whole
from bridge.model.types import GUARDRAIL_PREFIX
from bridge.opa.bundle import EDGE_POLICY, Bundle, build_bundle
from bridge.opa.executable import cache_root


@dataclass(frozen=True, slots=True)
class Shipped:
    """The content of every bundle: modules by path, data, and the parts of `data` that they own."""

    modules: Mapping[str, str]
    data: Mapping[str, Any]
    roots: frozenset[str]


_NONE: Mapping[str, Any] = MappingProxyType({})

# Not below `data.bridge`: at each activation OPA copies a document with packages in it, once for each of their rules.
SETTINGS = "bridge_settings"


def shipped(
    root: Path,
    bounds: Mapping[str, int] = _NONE,
    versions: Mapping[str, str] = _NONE,
    queries: Iterable[str] | None = None,
) -> Shipped:
    """Return the modules of every bundle (in `bridge` and `views`), and `data.bridge_settings`.

    The settings are `{presets, fields, schemas, bounds, versions}`: `presets` are policy kinds by file name, `fields`
    the released fields of these, as in known_fields.json, `schemas` the schemas of `spec` of the bridge's own kinds and
    of parameters of guardrails. `bounds` limit the size of a policy (the Rego has defaults for missing ones),
    `versions` are those of types that are not read in the API server's preferred version.
    With `queries` the modules have only the rules that these reach.

    Other folders are not part of a bundle: OPA gets them as files (`bridge.files.authorization_policy`). The
    modules own only their packages: `bridge.strategies` and `bridge.extensions` are for others' modules.
    """
    modules, prepared = _read_files(root)
    if queries is not None:
        modules = reached(prepared.modules, queries)
    packages = {f"bridge/{prepared.modules[path].package.partition('.')[0]}" for path in modules}
    data = {SETTINGS: {**prepared.data, "bounds": dict(bounds), "versions": dict(versions)}}
    return Shipped(modules, data, frozenset({*packages, SETTINGS}))


def reduced(found: Shipped, root: Path, queries: Iterable[str], named: Iterable[tuple[str, ...]]) -> Shipped:
    """Return the part that these queries reach, and that other modules name: parts of `data`, as far as written out."""
    modules = reached(_read_files(root)[1].modules, queries, named)
    return replace(found, modules=modules)


@cache
def _read_files(root: Path) -> tuple[Mapping[str, str], Prepared]:
    """Return the modules by path, and their prepared form with `{presets, fields, schemas}`, as of the first call."""
    paths = [path for path in (root / "bridge").rglob("*.rego") if not path.name.endswith("_test.rego")]
    paths += [path for path in (root / "views").glob("*.rego") if not path.name.endswith("_test.rego")]
    modules = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(paths)}
    described = [*sorted((root / "bridge/kinds/presets").glob("*.yaml")), *sorted(crds_root().glob("*.yaml"))]
    described += (root / "guardrails").glob("*.yaml")
    described.append(released_fields())
    return modules, prepare(modules, {path: path.read_bytes() for path in described}, _read_described)


def preset_kinds(root: Path) -> list[str]:
    """Return the policy kinds, `<group>/<Kind>`, that the shipped presets describe."""
    return [f"{spec['group']}/{spec['kind']}" for spec in _read_files(root)[1].data["presets"].values()]


def shipped_guardrails(packages: Iterable[str]) -> dict[str, str]:
    """Return the modules of the shipped guardrails that have these packages, by path; other names have none."""
    names = {name.rpartition(".")[2] for name in packages if name.startswith(GUARDRAIL_PREFIX)}
    files = {f"guardrails/{name}.rego": rego_root() / "guardrails" / f"{name}.rego" for name in sorted(names)}
    return {path: file.read_text(encoding="utf-8") for path, file in files.items() if file.is_file()}


def _read_described(files: Mapping[Path, bytes]) -> dict[str, Any]:
    read = {path: yaml.safe_load(content) for path, content in files.items() if path != released_fields()}
    crds = [document["spec"] for path, document in read.items() if path.parent == crds_root()]
    parameters = [document for path, document in read.items() if path.parent.name == "guardrails"]
    presets = {path.stem: document["spec"] for path, document in read.items() if path.parent.name == "presets"}
    kinds = {f"{spec['group']}/{spec['kind']}" for spec in presets.values()}
    released = msgspec.json.decode(files[released_fields()])
    return {
        "presets": presets,
        "fields": {type_id: known for type_id, known in released.items() if type_id in kinds},
        "schemas": {
            **{policy: schema for schemas in parameters for policy, schema in schemas.items()},
            **{
                one["names"]["kind"]: one["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
                for one in crds
            },
        },
    }


def shipped_bundle(root: Path, bounds: Mapping[str, int] = _NONE, queries: Iterable[str] | None = None) -> Bundle:
    """Return the bundle of an OPA without submissions; `bounds` and `queries` are those of `shipped`."""
    found = shipped(root, bounds, queries=queries)
    return build_bundle(found.modules, found.data, found.roots)


# What edges share with the hub.
_OF_EDGES = (
    *(f"bridge/lib/{name}.rego" for name in ("implementations", "keys", "likeness")),
    "bridge/request/request_input.rego",
    *(f"bridge/routing/{name}.rego" for name in ("answer", "matching", "warnings")),
)
_EDGE = re.compile(r"^package edge$", re.MULTILINE)


@cache
def edge_bundle(root: Path) -> Bundle:
    """Return the bundle of the Rego that looks up answers (`root/edge`), whose package gets the contract's name."""
    paths = [path for path in sorted((root / "edge").glob("*.rego")) if not path.name.endswith("_test.rego")]
    modules = {f"edge/{path.name}": path.read_text(encoding="utf-8") for path in paths}
    modules = {path: _EDGE.sub("package bridge.v1", text) for path, text in modules.items()}
    shared = {path: (root / path).read_text(encoding="utf-8") for path in _OF_EDGES}
    return build_bundle(modules | shared, {}, ("bridge/v1", "bridge/lib", "bridge/request", "bridge/routing"))


def add_edge_policy(rules: Bundle, root: Path) -> Bundle:
    """Return a bundle with the authorization policy of edges, which their configuration names."""
    policy = (root / "system/edge/edge.rego").read_bytes()
    files = {**rules.files, "system/edge.rego": policy}
    return replace(rules, files=files, roots=tuple(sorted({*rules.roots, EDGE_POLICY})))


# As `opa fmt` writes modules: a rule or an import begins in the first column with a letter or `_`.
_START = re.compile(r"^(?:default )?([A-Za-z_]\w*)", re.MULTILINE)
_IMPORT = re.compile(r"^import data\.bridge\.([\w.]+?)(?: as (\w+))?$", re.MULTILINE)
_NAMES = re.compile(r"[A-Za-z_][\w.]*")
_FORM = "1"  # of the file; another number makes the others invalid


class Rule(msgspec.Struct, array_like=True):
    """A rule's name and text, its first line in the module, and the rules that it names, as `<package>.<name>`."""

    name: str
    text: str
    line: int
    uses: tuple[str, ...]


class Module(msgspec.Struct, array_like=True):
    """A module: its package below `data.bridge`, the text before its first rule, and its rules."""

    package: str
    head: str
    rules: list[Rule]


class Prepared(msgspec.Struct, array_like=True):
    """All modules by path, and the data that the shipped YAML files describe."""

    modules: dict[str, Module]
    data: dict[str, Any]


def prepare(
    texts: Mapping[str, str], files: Mapping[Path, bytes], read: Callable[[Mapping[Path, bytes]], dict[str, Any]]
) -> Prepared:
    """Return the prepared form of modules by path, with the data that `read` makes of the files; cached if possible."""
    seen = hashlib.sha256(_FORM.encode())
    for name, content in (*((name, text.encode()) for name, text in texts.items()), *files.items()):
        seen.update(f"{name}\0{len(content)}\0".encode() + content)
    file = cache_root() / "rules" / f"{seen.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(file.read_bytes(), type=Prepared)
    made = Prepared(_cut_modules(texts), read(files))
    # Without a cache every command prepares again.
    with contextlib.suppress(OSError):
        write_whole(file, msgspec.json.encode(made))
    return made


def reached(
    modules: Mapping[str, Module], queries: Iterable[str], named: Iterable[tuple[str, ...]] = ()
) -> dict[str, str]:
    """Return the modules with only the rules that these queries of the contract reach; lines keep their numbers.

    Rules at, above and below the parts of `data` that are `named` are reached, too.
    """
    uses: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for rule in module.rules:
            uses[f"{module.package}.{rule.name}"].update(rule.uses)
    found: set[str] = set()
    waiting = {f"v1.{name}" for name in queries} | _find_named([*uses], named)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= uses.get(name, set())
    return {path: text for path, module in modules.items() if (text := _write_rules(module, found))}


def _find_named(rules: Collection[str], named: Iterable[tuple[str, ...]]) -> set[str]:
    """Return the rules at, above and below parts of `data`."""
    found: set[str] = set()
    for path in {path for path in named if path[:1] in {(), ("bridge",)}}:
        at = ".".join(path[1:])
        found.update(
            rule for rule in rules if not at or f"{rule}.".startswith(f"{at}.") or f"{at}.".startswith(f"{rule}.")
        )
    return found


def _write_rules(module: Module, found: set[str]) -> str:
    text = module.head
    line = text.count("\n") + 1
    chosen = [rule for rule in module.rules if f"{module.package}.{rule.name}" in found]
    for rule in chosen:
        text += "\n" * (rule.line - line) + rule.text
        line = rule.line + rule.text.count("\n")
    return text if chosen else ""


def _cut_modules(texts: Mapping[str, str]) -> dict[str, Module]:
    names: dict[str, set[str]] = defaultdict(set)
    cut = {path: _cut(text) for path, text in texts.items()}
    for package, _, rules in cut.values():
        names[package].update(name for name, _, _ in rules)
    made = {}
    for path, (package, head, rules) in cut.items():
        imported = {found[2] or found[1].rpartition(".")[2]: found[1] for found in _IMPORT.finditer(head)}
        made[path] = Module(
            package,
            head,
            [
                Rule(name, text, line, tuple(sorted(_find_uses(text, package, imported, names))))
                for name, text, line in rules
            ],
        )
    return made


def _cut(text: str) -> tuple[str, str, list[tuple[str, str, int]]]:
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)  # an annotation without its rule would be an error
    starts = [found for found in _START.finditer(text) if found[1] not in {"package", "import"}]
    package = re.search(r"^package bridge\.([\w.]+)", text, re.MULTILINE)
    ends = [found.start() for found in starts[1:]] + [len(text)]
    rules = [
        (found[1], text[found.start() : end].rstrip() + "\n", text.count("\n", 0, found.start()) + 1)
        for found, end in zip(starts, ends, strict=True)
    ]
    return package[1] if package else "", text[: starts[0].start()] if starts else text, rules


def _find_uses(text: str, package: str, imported: Mapping[str, str], names: Mapping[str, set[str]]) -> Iterator[str]:
    for reference in set(_NAMES.findall(text)):
        first, *rest = reference.split(".")
        if first in names[package]:
            yield f"{package}.{first}"
        path = [*imported[first].split("."), *rest] if first in imported else rest[1:] if first == "data" else []
        for place in range(1, len(path) + 1):
            other = ".".join(path[:place])
            if place == len(path) or path[place] not in names.get(other, ()):
                # A package as a whole, or a name of none.
                if place == len(path) and other in names:
                    yield from (f"{other}.{name}" for name in names[other])
                continue
            yield f"{other}.{path[place]}"
