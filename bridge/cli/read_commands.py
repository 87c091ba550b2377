"""Commands that read: declared with the options of all of them, and their answers of several sources joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import command, option
from bridge.cli.options import FORMATS, SELECTOR, output_option
from bridge.cli.output import Answer, names_of, print_answer, print_error
from bridge.cli.reading import Ask, Asked, asked_for, read
from bridge.cli.source import SEVERAL
from bridge.cli.table import Block, filled
from bridge.queries.names import CommandError, NameNotFoundError, UnknownKindError

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.offline.slicing import Question


def read_command(
    short_help: str,
    *parameters: click.Parameter,
    queries: Iterable[str] | Callable[[Asked], Iterable[str]] | None = None,
    only_merging: bool = False,
    at_targets: Callable[[Asked], bool] = lambda _: False,
    check: Callable[[Asked], Sequence[str]] = lambda _: (),
    formats: Iterable[str] = (),
) -> Callable[[Ask], click.Command]:
    """Make a function from an engine and the options to an answer a command, with the options of all read commands.

    `queries` are those that the function sends, or a function of the options that returns them, by default any: with
    `--manifests` OPA loads only the rules that these and the reports of problems reach. With `only_merging` the answer
    depends on no Rego of admins but that by which policies merge: other Rego of a cluster is not even checked. Where
    `at_targets` is true of the options, the answer is about the targets that the words name, and OPA may have only
    what it reads. `check` is called before the source is opened; it may raise CommandError, and returns the
    types to read in addition to those that every command needs. `formats` are those of this command alone.
    """

    def declare(function: Ask) -> click.Command:
        ask = of_one_cluster(with_labels(in_namespace(function)))

        def sent(asked: Asked) -> Iterable[str] | None:
            own = queries(asked) if callable(queries) else queries
            return own if own is None or SELECTOR not in parameters else {*own, *OF_SELECTOR}

        def answered(asked: Asked) -> tuple[Answer, int]:
            types = check(asked)
            if asked.watch:
                from bridge.cli.watching import watch

                watch(asked, ask, types)
            answer, code = read(
                asked.source,
                lambda engine: ask(engine, asked),
                types,
                queries=sent(asked),
                only_merging=only_merging,
                question=_question(asked.words) if asked.words and at_targets(asked) else None,
            )
            answer.keep()
            if code:  # not all of the source was read
                answer = replace(answer, nothing=f"{answer.nothing.rstrip('.')}, as far as the source could be read.")
            return answer, code or answer.code

        def callback(**options: Any) -> int:
            asked = asked_of_each(options)
            if len(asked) > 1 and (why := next((why for name, why in _OF_ONE_SOURCE.items() if options.get(name)), "")):
                raise CommandError(f"{why}: give one --context or --cluster")
            answer, code = answered(*asked.values()) if len(asked) == 1 else _join(asked, answered)
            print_answer(options["output"], answer)
            return code

        callback.__name__, callback.__doc__ = function.__name__, function.__doc__
        made: click.Command = command(short_help, *parameters, *SEVERAL, output_option(*FORMATS, *formats), _WATCH)(
            callback
        )
        return made

    return declare


# Options that only commands with one source can have.
_OF_ONE_SOURCE = {"watch": "--watch follows one source", "baseline": "--baseline has the problems of one source"}


def _question(words: tuple[str, ...]) -> Question:
    from bridge.queries.asking import AboutTargets

    return AboutTargets(words)


def asked_of_each(options: dict[str, Any]) -> dict[str, Asked]:
    """Return the options of a read command for each of its sources, by the name of a context or a cluster.

    Raises CommandError like `asked_for`, and for an unknown cluster.
    """
    contexts, clusters, every = (options.pop(name) for name in ("contexts", "clusters", "all_clusters"))
    if clusters and every:
        raise CommandError("--cluster and --all-clusters cannot be used together")
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
    Raises NameNotFoundError for a namespace of the options that does not exist and has no objects, also for that of
    requests in a mesh.
    """

    async def ask_there(engine: Engine, asked: Asked) -> Answer:
        from bridge.queries.asking import require_namespace

        await require_namespace(engine.opa, asked.source_namespace)
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


OF_SELECTOR = ("resource_versions",)  # the queries of `with_labels`


def with_labels(ask: Ask) -> Ask:
    """Return `ask`, which raises NameNotFoundError if no object has the labels of -l."""

    async def ask_about_labels(engine: Engine, asked: Asked) -> Answer:
        answer = await ask(engine, asked)
        if asked.selects and not answer.document:
            from bridge.queries.analysis import selects_none

            namespace = asked.namespace or (None if asked.all_namespaces else engine.namespace) or None
            if await selects_none(engine.opa, namespace, asked.selects):
                where = f" in namespace {namespace}" if namespace else ""
                raise NameNotFoundError(f"-l selects no object{where}: check its labels")
        return answer

    return ask_about_labels


def _name_namespace(answer: Answer, asked: Asked, namespace: str, end: str) -> Answer:
    """Return an answer whose text for no results names the namespace, unless the words name objects."""
    names_objects = len(asked.words) > 1 or any("/" in word for word in asked.words)
    if names_objects or not answer.namespaced:
        return answer
    return replace(answer, nothing=f"{answer.nothing.rstrip('.')} in namespace {namespace}{end}")


_WATCH = option("-w", "--watch", is_flag=True, help="After the table, print changed rows until Ctrl-C.")
