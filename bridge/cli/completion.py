"""Shell completion: the script that `pbctl completion` prints, and names from the user's source."""

import asyncio
import contextlib
import io
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import click
from click.shell_completion import get_completion_class

from bridge.cli.command import NAME, command
from bridge.cli.source import SOURCE, read_input
from bridge.model.keys import CLUSTER, Key
from bridge.queries.names import match_kinds
from bridge.queries.stock import Stock, stock_of_cluster, stock_of_manifests, stock_of_opa

_Offer = Callable[[Stock, str | None, str], Awaitable[Iterable[str]]]

PATIENCE = 2.5  # seconds; the longest wait after pressing tab
_MOST = 400  # words that are offered
_SAFE = re.compile(r"[A-Za-z0-9._/#\[\]-]+")  # characters without a special meaning for shells
# Kinds without attached policies.
_NO_TARGETS = {
    "apiextensions.k8s.io/CustomResourceDefinition",
    "gateway.networking.k8s.io/ReferenceGrant",
    "policybridge.io/Constraint",
    "policybridge.io/PolicyKind",
    "policybridge.io/RegoPolicy",
    "core/ConfigMap",
}


def offered(names: str, ctx: click.Context, incomplete: str) -> list[str]:
    """Return the words of `OFFERS[names]` in the source of a command line that begin like an incomplete one."""
    found: list[str] = []

    def look() -> None:
        # Completion must not print any error.
        with contextlib.suppress(BaseException), contextlib.redirect_stderr(io.StringIO()):
            offering = _offered(OFFERS[names], ctx.params, incomplete)
            words = asyncio.run(asyncio.wait_for(offering, PATIENCE * 0.9))  # ends what it started before this process
            found.extend(word for word in words if word.startswith(incomplete) and _SAFE.fullmatch(word))

    # A daemon thread, so a slow folder does not block the shell.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return list(dict.fromkeys(found))[:_MOST]


async def _offered(offer: _Offer, params: dict[str, Any], incomplete: str) -> list[str]:
    from bridge.telemetry.logs import configure_logs

    configure_logs("error", "console")
    named = [one.name for one in SOURCE if one.name in params]
    options = {name: params[name] for name in named} | {
        "manifests": tuple(path for path in params.get("manifests") or () if path != "-")
    }
    if params.get("contexts"):
        options["kube_context"] = params["contexts"][0]
    source = read_input(**{"opa_url": None, "opa_token_file": None, **options})
    if source.manifests:
        reading = stock_of_manifests(source.manifests)
    elif source.opa_url:
        reading = stock_of_opa(source.opa_url, source.token)
    else:
        reading = stock_of_cluster(source.kubeconfig, source.kube_context)
    async with reading as stock:
        return list(await offer(stock, params.get("namespace"), incomplete))


async def _targets(stock: Stock, namespace: str | None, incomplete: str) -> Iterable[str]:
    policies = await stock.policies()
    types = [name for name in await stock.types() if name not in policies and name not in _NO_TARGETS]
    return await _objects(stock, types, namespace, incomplete)


async def _policies(stock: Stock, namespace: str | None, incomplete: str) -> Iterable[str]:
    return await _objects(stock, sorted(await stock.policies()), namespace, incomplete)


async def _any_objects(stock: Stock, namespace: str | None, incomplete: str) -> Iterable[str]:
    return await _objects(stock, list(await stock.types()), namespace, incomplete)


async def _kinds(stock: Stock, _: str | None, incomplete: str) -> Iterable[str]:
    return sorted(_spelled(name, incomplete) for name in await stock.policies())


async def _namespaces(stock: Stock, _: str | None, __: str) -> Iterable[str]:
    return sorted({key.name for key in await stock.keys(["core/Namespace"])})


async def _gateways(stock: Stock, namespace: str | None, _: str) -> Iterable[str]:
    keys = await stock.keys(["gateway.networking.k8s.io/Gateway"])
    return [form for key in keys for form in (key.name, *_forms("", key, namespace))]


async def _constraints(stock: Stock, _: str | None, __: str) -> Iterable[str]:
    return [key.name for key in await stock.keys(["policybridge.io/Constraint"])]


async def _objects(stock: Stock, types: list[str], namespace: str | None, incomplete: str) -> Iterable[str]:
    """Offer `KIND/` while several kinds match, then names, and after a `#` the sections of the named object."""
    kind, slash, rest = incomplete.partition("/")
    if not slash:
        begun = sorted(word for word in (_spelled(name, incomplete) for name in types) if word.startswith(incomplete))
        if len(begun) != 1:
            return [f"{word}/" for word in begun]
        kind = begun[0]
    known = await stock.types()
    matched = [name for name in match_kinds(kind, {name: known[name] for name in types}) if name in types]
    keys = await stock.keys(matched)
    body, hash_mark, _ = rest.partition("#")
    by_form = {form: key for key in keys for form in _forms(f"{kind}/", key, namespace)}
    named = by_form.get(f"{kind}/{body}")
    if named is not None and hash_mark:
        return [f"{kind}/{body}#{section.section}" for section in await stock.sections(named)]
    return by_form


def _forms(prefix: str, key: Key, namespace: str | None) -> Iterator[str]:
    """Return the forms of an object: with its namespace, and without it if -n gives the namespace."""
    if key.namespace in {CLUSTER, namespace}:
        yield f"{prefix}{key.name}"
    if key.namespace != CLUSTER and namespace in {None, key.namespace}:
        yield f"{prefix}{key.namespace}/{key.name}"


def _spelled(type_id: str, incomplete: str) -> str:
    """Return a kind in the spelling that the user began."""
    kind = type_id.partition("/")[2]
    return kind if not incomplete or incomplete[0].isupper() else kind.lower()


OFFERS: dict[str, _Offer] = {
    "targets": _targets,
    "policies": _policies,
    "objects": _any_objects,
    "kinds": _kinds,
    "namespaces": _namespaces,
    "gateways": _gateways,
    "constraints": _constraints,
}

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_PBCTL_COMPLETE"  # variable by which the script calls the command

# `HTTPRoute/` is an incomplete word, so no blank must follow it. fish recognizes that by the slash.
_WITHOUT_BLANK = {
    "bash": (("COMPREPLY+=($value)", 'COMPREPLY+=("$value"); [[ $value == */ ]] && compopt -o nospace'),),
    "zsh": (
        (
            "compadd -U -V unsorted -a completions",
            """local -a kinds=(${(M)completions:#*/}) whole=(${completions:#*/})
        (( $#kinds )) && compadd -U -S '' -V unsorted -a kinds
        (( $#whole )) && compadd -U -V unsorted -a whole""",
        ),
    ),
}


@command("Print a shell completion script", click.Argument(["shell"], type=click.Choice(SHELLS)))
def completion(shell: str) -> None:
    """Print the script that completes commands, options and their values in a shell.

    `kubectl bridge …` needs none: kubectl's own completion calls `kubectl_complete-bridge`, which is installed next to
    `kubectl-bridge`.

    Examples:
        # Enable it in this bash
        source <(pbctl completion bash)
        # Enable it in every new zsh
        pbctl completion zsh >~/.zfunc/_pbctl
        # Enable it in every new fish
        pbctl completion fish >~/.config/fish/completions/pbctl.fish
    """
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choices are those that there are
    script = found(click.get_current_context().find_root().command, {}, NAME, VARIABLE).source()
    for line, better in _WITHOUT_BLANK.get(shell, ()):
        script = script.replace(line, better)
    click.echo(script)
