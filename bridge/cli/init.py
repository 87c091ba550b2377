"""`pbctl init`: print first versions of resources for users to complete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import Group, command, option
from bridge.cli.options import ONLY_KIND, kind_option, namespace_option
from bridge.cli.output import print_document, print_error
from bridge.cli.reading import read
from bridge.cli.source import CONTEXT, Input, kubeconfig_option, opa_options, read_input
from bridge.queries.names import CommandError, NameNotFoundError

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

Guess = dict[str, Any]  # `{field, value, why}`; a value of None leaves the field out


def _init() -> None:
    """Print drafts of resources, to complete and apply.

    Examples:
        # From a CRD in a file
        pbctl init policykind --from-crd crds/ratelimitpolicies.yaml
        # From a CRD of the cluster
        pbctl init policykind --from-crd ratelimitpolicies.kuadrant.io
        # Tests of what is in effect now
        pbctl init tests deploy/ >deploy/tests.yaml
    """


init = Group("init", help=_init.__doc__, short_help="Print drafts: a PolicyKind for a CRD, tests for manifests")


@command(
    "Print a suite of what is in effect",
    click.Argument(["path"], metavar="PATH"),
    namespace_option("-n", "--namespace", about="Only targets in this namespace."),
    kind_option(ONLY_KIND),
    group=init,
)
def tests(path: str, namespace: str | None, kind: str | None) -> int:
    """Print a suite for `pbctl test`: what is in effect now in the manifests of PATH, a test for each object.

    Write it beside the manifests, and delete what may change.

    Examples:
        # Tests of what is in effect now
        pbctl init tests deploy/ >deploy/tests.yaml
    """
    from bridge.queries.asking import require_namespace
    from bridge.queries.suites import draft_suite

    async def ask(engine: Engine) -> tuple[dict[str, Any], list[str]]:
        await require_namespace(engine.opa, namespace)
        return await draft_suite(engine.opa, kind, namespace)

    (suite, left_out), code = read(Input(manifests=(path,)), ask)
    for text in left_out:
        print_error(f"left out: {text}")
    if not suite["tests"]:
        print_error(f"no effective policies found in {path}: the suite has no tests")
    print_document("yaml", suite)
    return code


@command(
    "Print a PolicyKind guessed from a CRD",
    option(
        "--from-crd",
        "crd",
        metavar="FILE|NAME",
        required=True,
        help="A file or folder with CRDs, or the name of a CRD.",
    ),
    *opa_options("Read the CRD from this OPA", "Bearer token for that OPA."),
    kubeconfig_option("Read the CRD from this cluster. Default: kubectl's cluster."),
    CONTEXT,
    group=init,
)
def policykind(crd: str, **options: Any) -> int:
    """Print a PolicyKind guessed from a CRD, with the reason of each guess as a comment.

    From several CRDs the command uses those of policies without a policy kind. NAME is the name of a CRD or a kind.

    Examples:
        # From a CRD in a file
        pbctl init policykind --from-crd crds/ratelimitpolicies.yaml
        # From a CRD of the cluster
        pbctl init policykind --from-crd ratelimitpolicies.kuadrant.io
    """
    is_file = Path(crd).exists() or crd.endswith((".yaml", ".yml", ".json"))
    source = Input(manifests=(crd,)) if is_file else read_input(**options)

    async def ask(engine: Engine) -> list[str]:
        return await _policy_kinds(engine, "" if is_file else crd)

    texts, code = read(source, ask)
    click.echo("---\n".join(texts), nl=False)
    return code


async def _policy_kinds(engine: Engine, name: str) -> list[str]:
    from bridge.queries.asking import undescribed
    from bridge.queries.names import resolve_kind

    opa = engine.opa
    crds: dict[str, Any] = await opa.get("objects/apiextensions.k8s.io/CustomResourceDefinition/-") or {}
    types = {f"{crd['spec']['group']}/{crd['spec']['names']['kind']}": plural for plural, crd in crds.items()}
    if name:
        plurals = {type_id: [plural.partition(".")[0]] for type_id, plural in types.items()}
        chosen = [type_id for type_id, plural in types.items() if plural == name]
        chosen = chosen or [resolve_kind(name, plurals, "CRD")]
    else:
        unknown = (await undescribed(opa)).keys()
        chosen = list(types) if len(types) == 1 else sorted(types.keys() & unknown)
    if not chosen:
        raise NameNotFoundError("no CRD in the source defines policies without a policy kind")
    return [_written(type_id, types[type_id], await _guesses(engine, type_id)) for type_id in chosen]


async def _guesses(engine: Engine, type_id: str) -> list[Guess]:
    found: list[Guess] = await engine.opa.query("guessed", {"guessedType": type_id})
    if not found:
        raise CommandError(f"the CRD of {type_id} serves no version")
    return found


def _written(type_id: str, plural: str, guesses: list[Guess]) -> str:
    """Return the PolicyKind as YAML with comments."""
    import yaml

    group, _, kind = type_id.partition("/")
    lines = [
        f"# Guessed from the CRD {plural}: check each line (docs/reference/policykind.md has every field).",
        "apiVersion: policybridge.io/v1alpha1",
        "kind: PolicyKind",
        "metadata:",
        f"  name: {plural}",
        "spec:",
        f"  group: {group}",
        f"  kind: {kind}",
        "  # Observe writes nothing. Manage also writes statuses, and needs controllerName.",
        "  mode: Observe",
    ]
    for guess in guesses:
        lines.append(f"  # {guess['field']}: {guess['why']}")
        if guess["value"] is None:
            continue
        # PyYAML would write a mapping of scalars on one line in braces.
        flow = None if isinstance(guess["value"], list | dict) else False
        text = yaml.safe_dump({guess["field"]: guess["value"]}, sort_keys=False, default_flow_style=flow, width=110)
        lines += [f"  {line}" for line in text.splitlines()]
    return "\n".join(lines) + "\n"
