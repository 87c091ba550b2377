"""Read commands: declare one, open its source as an engine, query it, print the answer, report errors of the input."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bridge.cli.command import FORMATS, TEMPLATES, command, option, output_option
from bridge.cli.output import Answer, names_of, print_answer, print_error
from bridge.cli.source import SEVERAL, SOURCE, Input, read_input
from bridge.cli.table import Block, filled
from bridge.queries.names import CommandError, NameNotFoundError, UnknownKindError, first_of, short_key

if TYPE_CHECKING:
    from bridge.model.keys import Key
    from bridge.offline.engine import Engine
    from bridge.queries.asking import Selects

_Result = TypeVar("_Result")

STDIN = "-"
INPUT_ERROR = 2  # exit code, although the rest was printed
_NOT_OPA = "no_opa_error"  # code of an error body that is not from OPA
_NAMED = 3  # objects that a warning lists


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a read command. Those that a command does not have keep their defaults; `more` are its own.

    Without `all_namespaces` and a namespace, the one of the kubeconfig's context is meant.
    """

    source: Input
    output: str = "table"
    watch: bool = False
    words: tuple[str, ...] = ()
    kind: str | None = None
    namespace: str | None = None
    all_namespaces: bool = True
    source_namespace: str | None = None
    selects: Selects | None = None
    depth: int | None = None
    everything: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def wide(self) -> bool:
        """Return whether tables may be wide."""
        return self.output == "wide"

    @property
    def wants_document(self) -> bool:
        """Return whether the format prints JSON data, as a whole or by a template, and not a table or names."""
        return self.output.partition("=")[0] in {"json", "yaml", *TEMPLATES}


Ask = Callable[["Engine", Asked], Awaitable[Answer]]


def read_command(
    short_help: str,
    *parameters: click.Parameter,
    queries: Iterable[str] | None = None,
    check: Callable[[Asked], Sequence[str]] = lambda _: (),
) -> Callable[[Ask], click.Command]:
    """Make a function from an engine and the options to an answer a command, with the options of all read commands.

    `queries` are those that the function sends, by default any: with `--manifests` OPA loads only the rules that these
    and the reports of problems reach. `check` is called before the source is opened; it may raise CommandError, and
    returns the types to read in addition to those that every command needs.
    """

    def declare(function: Ask) -> click.Command:
        ask = of_one_cluster(in_namespace(function))

        def answered(asked: Asked) -> tuple[Answer, int]:
            types = check(asked)
            if asked.watch:
                from bridge.cli.watching import watch

                watch(asked, ask, types)
            answer, code = read(asked.source, lambda engine: ask(engine, asked), types, queries=queries)
            if code:  # not all of the source was read
                answer = replace(answer, nothing=f"{answer.nothing.rstrip('.')}, as far as the source could be read.")
            return answer, code or answer.code

        def callback(**options: Any) -> int:
            asked = asked_of_each(options)
            if len(asked) > 1 and options["watch"]:
                raise CommandError("--watch follows one source: give one --context or --cluster")
            answer, code = answered(*asked.values()) if len(asked) == 1 else _join(asked, answered)
            print_answer(options["output"], answer)
            return code

        callback.__name__, callback.__doc__ = function.__name__, function.__doc__
        made: click.Command = command(short_help, *parameters, *SEVERAL, output_option(*FORMATS), _WATCH)(callback)
        return made

    return declare


def asked_of_each(options: dict[str, Any]) -> dict[str, Asked]:
    """Return the options of a read command for each of its sources, by the name of a context or a cluster.

    Raises CommandError like `asked_for`, and for an unknown cluster.
    """
    contexts, clusters, every = (options.pop(name) for name in ("contexts", "clusters", "all_clusters"))
    if clusters and every:
        raise CommandError("--cluster and --all-clusters exclude each other")
    each = {name: asked_for({**options, "kube_context": name or None}) for name in contexts or ("",)}
    if not clusters and not every:
        return each
    source = next(iter(each.values())).source
    if not source.opa_url:
        raise CommandError(f"{'--cluster' if clusters else '--all-clusters'} needs --opa with the data of clusters")
    known, _ = read(source, lambda engine: engine.opa.get("bridge/fleet/clusters"))
    if not known:
        raise CommandError(f"{source.opa_url} has no data of clusters: see the view federation")
    for name in clusters:
        if name not in known:
            raise CommandError(f"no cluster {name!r} at {source.opa_url}: it has {', '.join(known)}")
    (asked,) = each.values()
    return {name: replace(asked, source=replace(source, cluster=name)) for name in clusters or known}


def _join(asked: Mapping[str, Asked], answered: Callable[[Asked], tuple[Answer, int]]) -> tuple[Answer, int]:
    """Return the answers of several sources as one: tables below their names, documents by name.

    A source that does not have what is named is reported. Raises NameNotFoundError if none has it.
    """
    answers: dict[str, tuple[Answer, int]] = {}
    missing = []
    for name, one in asked.items():
        try:
            answers[name] = answered(one)
        except NameNotFoundError as error:
            missing.append(f"{name}: {error}")
    if not answers:
        raise NameNotFoundError("; ".join(missing))
    for problem in missing:
        print_error(problem)

    def tables() -> Iterable[Block]:
        for source, (answer, _) in answers.items():
            if blocks := filled(answer.tables()):
                yield from (f"{source}:", *blocks)

    def names() -> Iterable[str]:
        return (f"{source}: {name}" for source, (answer, _) in answers.items() for name in names_of(answer))

    document = {name: answer.document for name, (answer, _) in answers.items()}
    nothing = next(answer.nothing for answer, _ in answers.values())
    return Answer(tables, nothing, document, names), max(code for _, code in answers.values())


def of_one_cluster(ask: Ask) -> Ask:
    """Return `ask`, which raises CommandError instead of finding nothing because no cluster of several is chosen."""

    async def ask_with_cluster(engine: Engine, asked: Asked) -> Answer:
        missing: NameNotFoundError | UnknownKindError | None = None
        try:
            answer = await ask(engine, asked)
        except (NameNotFoundError, UnknownKindError) as error:
            missing = error
        else:
            if answer.document:
                return answer
        source = asked.source
        if source.opa_url and not source.cluster and (known := await _clusters_of(engine)):
            several = f"{source.opa_url} has the data of several clusters ({', '.join(known)})"
            raise CommandError(f"{several}: name one with --cluster, or give --all-clusters")
        if missing:
            raise missing
        return answer

    return ask_with_cluster


async def _clusters_of(engine: Engine) -> list[str]:
    from bridge.opa.errors import OpaError

    try:
        return list(await engine.opa.get("bridge/fleet/clusters") or ())
    except OpaError:  # OPA accepts a reader's token for queries only
        return []


def in_namespace(ask: Ask) -> Ask:
    """Return `ask` for the namespace of the options, otherwise for that of the kubeconfig's context, as in kubectl.

    An answer without results names the namespace. An object that is not in the context's namespace is searched in all.
    Raises NameNotFoundError for a namespace of the options that does not exist and has no objects.
    """

    async def ask_there(engine: Engine, asked: Asked) -> Answer:
        from bridge.queries.asking import require_namespace

        if asked.namespace:
            await require_namespace(engine.opa, asked.namespace)
            return _name_namespace(await ask(engine, asked), asked, asked.namespace, ".")
        if asked.all_namespaces or not engine.namespace:
            return await ask(engine, asked)
        try:
            answer = await ask(engine, replace(asked, namespace=engine.namespace))
        except NameNotFoundError:
            return await ask(engine, asked)
        return _name_namespace(answer, asked, engine.namespace, " (-A: in all namespaces).")

    return ask_there


def _name_namespace(answer: Answer, asked: Asked, namespace: str, end: str) -> Answer:
    """Return an answer whose text for no results names the namespace, unless the words name objects."""
    names_objects = len(asked.words) > 1 or any("/" in word for word in asked.words)
    if names_objects or not answer.namespaced:
        return answer
    return replace(answer, nothing=f"{answer.nothing.rstrip('.')} in namespace {namespace}{end}")


_WATCH = option("-w", "--watch", is_flag=True, help="After the table, print changed rows until Ctrl-C.")


def asked_for(options: dict[str, Any], *, reads_commit: bool = False) -> Asked:
    """Return the options of a read command. Raises CommandError for options that exclude each other.

    With `reads_commit` a commit is the source, instead of one that the options name.
    """
    if options.get("all_namespaces") and options["namespace"]:
        raise CommandError("-n and -A exclude each other: -n selects one namespace, -A all of them")
    source = {name: options.pop(name) for name in [one.name for one in SOURCE] if name in options}
    known = {one.name for one in fields(Asked)} & options.keys()
    more = {name: value for name, value in options.items() if name not in known}
    if reads_commit and (given := next(filter(None, source.values()), None)):
        raise CommandError(f"--base COMMIT is the source: it excludes another one ({given!r})")
    chosen = Input() if reads_commit else read_input(**source)
    named = [word.partition("#")[0].split("/") for word in options.get("words", ())]
    namespaces = [options.get("namespace"), *(parts[-2] for parts in named if len(parts) > 2)]
    chosen = replace(chosen, namespaces=tuple(filter(None, namespaces)))
    return Asked(chosen, **{name: options[name] for name in known}, more=more)


def read(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Result]],
    types: Sequence[str] = (),
    *,
    allow_empty: bool = False,
    queries: Iterable[str] | None = None,
) -> tuple[_Result, int]:
    """Return the result of `ask`, and the exit code: 2 if manifests have errors, which are printed here.

    `types` are read in addition to those that every command needs; `queries` as for `read_command`. Input without any
    object is a CommandError, unless `allow_empty` is set.
    """
    take_standard_input(source.manifests)
    return asyncio.run(_read(source, ask, types, allow_empty=allow_empty, queries=queries))


def take_standard_input(manifests: Sequence[str]) -> None:
    """Read standard input to its end now, if it is among the manifests, for later use.

    Ctrl-C could not interrupt a thread of an event loop that waits for standard input. Raises CommandError if it is
    empty: a command before the pipe has probably failed.
    """
    if STDIN in manifests:
        text = sys.stdin.buffer.read()
        if not text.strip():
            raise CommandError("standard input is empty: check the command whose output it should be")
        sys.stdin = io.TextIOWrapper(io.BytesIO(text))


async def _read(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Result]],
    types: Sequence[str],
    *,
    allow_empty: bool,
    queries: Iterable[str] | None,
) -> tuple[_Result, int]:
    from bridge.opa.errors import OpaRejected

    async with opened(source, types, queries=queries) as engine:
        # A generator may print no object on standard input, but a folder without objects is probably the wrong one.
        paths = [path for path in source.manifests if path != STDIN]
        if engine.empty and paths and not allow_empty and not engine.problems:
            raise CommandError(f"no objects in {', '.join(paths)}")
        try:
            result = await ask(engine)
            failing = _report_failures(engine)
            return result, INPUT_ERROR if await report_problems(engine) or failing else 0
        except (NameNotFoundError, UnknownKindError) as error:
            # The kind may be missing because its file is broken, or because its PolicyKind is rejected.
            await report_problems(engine)
            if any(one.forbidden for one in engine.problems):
                known = str(error).partition(";")[0].partition(": write")[0]
                raise CommandError(f"{known} among the objects that you may read") from error
            raise
        except OpaRejected as error:
            if source.opa_url and error.code == _NOT_OPA:
                raise CommandError(
                    f"{source.opa_url} is not an OPA (HTTP {error.status}): if this is a bridge's own "
                    "address (--listen), give the address of its OPA, which it logs when it starts"
                ) from error
            raise
        except Exception:
            _report_faults(engine)
            raise


# Of `report_problems`, and of the search for the objects that a user names.
_QUERIES = (
    "names",
    "namespaces",
    "policykind_doubts",
    "refused_policykinds",
    "types",
    "undescribed",
    "version_problems",
)


def opened(
    source: Input, types: Sequence[str] = (), *, follow: bool = False, queries: Iterable[str] | None = None
) -> AbstractAsyncContextManager[Engine]:
    """Open the engine of a command; with `follow` it reads changes. `queries` are those of `read_command`."""
    # Imported here, so help and usage errors appear immediately.
    from bridge.offline.engine import open_engine
    from bridge.opa.address import TlsFiles
    from bridge.telemetry.logs import configure_logs

    configure_logs("error", "console")  # errors of manifests are reported once, below
    return open_engine(
        opa_url=source.opa_url,
        token=source.token,
        tls=TlsFiles(*source.tls),
        cluster=source.cluster,
        manifests=source.manifests,
        kubeconfig=source.kubeconfig,
        kube_context=source.kube_context,
        namespaces=source.namespaces,
        types=types,
        follow=follow,
        queries=None if queries is None else {*queries, *_QUERIES},
        applied=source.applied,
    )


def _report_failures(engine: Engine) -> bool:
    """Print what is not part of the result because a query fails on it, one line each; return whether there is any."""
    for (query, name), error in engine.opa.failures.errors.items():
        print_error(f"error: {name}: left out, because `{query}` fails on it: {error.details}")
    return bool(engine.opa.failures.errors)


async def report_problems(engine: Engine) -> bool:
    """Print errors of manifests and of PolicyKinds, one line each; return whether the input has errors."""
    from bridge.model.keys import parse_key
    from bridge.queries.asking import policy_kind_doubts, refused_policy_kinds, undescribed, version_problems

    at_fault = _report_faults(engine)
    for key, message in await refused_policy_kinds(engine.opa):
        at_fault |= report_at(engine, key, f"PolicyKind {key.name} is not active: {message}")
    for key, message in await policy_kind_doubts(engine.opa):
        # The kinds that it names may be installed later, and the rest is active: the input has no error.
        report_at(engine, key, f"{key.kind} {key.name}: {message}", "warning")
    for type_id, about in (await undescribed(engine.opa)).items():
        # Another author may own the CRD: this is not an error of the input.
        report_at(
            engine, parse_key(about["crd"]) if "crd" in about else None, f"{type_id}: {about['message']}", "warning"
        )
    if not engine.running:  # an OPA of a running bridge holds what an API server converted
        for key, problem in await version_problems(engine.opa):
            unserved = problem["reason"] == "VersionNotServed"  # no API server takes such a manifest
            at_fault |= unserved
            report_at(engine, key, f"{short_key(key)}: {problem['message']}", "error" if unserved else "warning")
    return at_fault


def report_at(engine: Engine, key: Key | None, text: str, level: str = "") -> bool:
    """Print a problem with the position of its object; return whether that is in a manifest: an error."""
    position = engine.position(key) if key else None
    where = f"{position[0]}:{position[1]}: " if position else ""
    print_error(f"{level or ('error' if position else 'warning')}: {where}{text}")
    return position is not None


def _report_faults(engine: Engine) -> bool:
    """Print errors of the input, one line each; return whether there were any.

    Rejected Rego of other authors is one warning, because the result is correct without it.
    """
    for problem in engine.problems:
        if not problem.forbidden:
            print_error(f"error: {problem.subject}: {problem.message}")
    if forbidden := [one for one in engine.problems if one.forbidden]:
        from bridge.cli.rights import missing_rights

        print_error(f"error: {missing_rights(forbidden)}")
    if objects := list(dict.fromkeys(one.subject for one in engine.rejected)):
        print_error(
            f"warning: Rego of {first_of(objects, _NAMED)} is rejected and not part of this result "
            "(`bridge get modules` shows why)"
        )
    return bool(engine.problems)
