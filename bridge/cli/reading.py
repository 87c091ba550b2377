"""Read commands: declare one, open its source as an engine, query it, print the answer, report errors of the input."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from bridge.cli.options import TEMPLATES
from bridge.cli.output import Answer, print_error
from bridge.cli.source import SOURCE, Input, read_input
from bridge.files import STDIN
from bridge.files import opened_input as opened_file
from bridge.model.keys import is_key, parse_key
from bridge.model.types import CRD, POLICY_KIND
from bridge.queries.names import CommandError, NameNotFoundError, UnknownKindError, first_of, short_key

if TYPE_CHECKING:
    from bridge.model.keys import Key
    from bridge.offline.engine import Engine
    from bridge.offline.slicing import Question
    from bridge.queries.asking import Selects

_Result = TypeVar("_Result")

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

# Queries of every command: of `report_problems`, and of the search for the objects that a user names.
OF_EVERY_COMMAND = (
    "names",
    "namespaces",
    "policykind_doubts",
    "refused_policykinds",
    "types",
    "undescribed",
    "version_problems",
)


def asked_for(options: dict[str, Any], *, reads_commit: bool = False) -> Asked:
    """Return the options of a read command. Raises CommandError for options that exclude each other.

    With `reads_commit` a commit is the source, instead of one that the options name.
    """
    if options.get("all_namespaces") and options["namespace"]:
        raise CommandError("-n and -A cannot be used together: -n selects one namespace, -A all of them")
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
    only_merging: bool = False,
    question: Question | None = None,
) -> tuple[_Result, int]:
    """Return the result of `ask`, and the exit code: 2 if manifests have errors, which are printed here.

    `types` are read in addition to those that every command needs; `queries` and `only_merging` as for
    `read_command`. `question` is what `ask` wants to know, None for anything. Input without any object is a
    CommandError, unless `allow_empty` is set.
    """
    take_standard_input(source.manifests)
    engine = opened(source, types, queries=queries, only_merging=only_merging, question=question)
    return asyncio.run(_read(source, ask, engine, allow_empty=allow_empty))


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


def need_one_reader(option: str, paths: Iterable[str], source: Input) -> None:
    """Raise CommandError if an option's paths and the source's manifests both name standard input."""
    if STDIN in paths and STDIN in source.manifests:
        raise CommandError(f"{option} - and --manifests - cannot both read standard input")


@contextmanager
def opened_input(path: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input for `-`. Raises CommandError for a file that cannot be opened or read."""
    try:
        with opened_file(path) as file:
            yield file
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}") from error


async def _read(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Result]],
    opening: AbstractAsyncContextManager[Engine],
    *,
    allow_empty: bool,
) -> tuple[_Result, int]:
    from bridge.opa.errors import OpaRejected

    async with opening as engine:
        # A generator may print no object on standard input, but a folder without objects is probably the wrong one.
        paths = [path for path in source.manifests if path != STDIN]
        if engine.empty and paths and not allow_empty and not engine.problems:
            raise CommandError(f"no objects in {', '.join(paths)}")
        try:
            result = await _ask_of_enough(engine, ask)
            failing = _report_failures(engine)
            return result, INPUT_ERROR if await report_problems(engine) or failing else 0
        except (NameNotFoundError, UnknownKindError) as error:
            # The kind may be missing because its file is broken, or because its PolicyKind is rejected.
            await report_problems(engine)
            if any(one.forbidden for one in engine.problems):
                text, hint, similar = str(error).partition("; did you mean")
                known = text.partition(";")[0].partition(": write")[0]
                raise CommandError(f"{known} among the objects that you may read{hint}{similar}") from error
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


def opened(
    source: Input,
    types: Sequence[str] = (),
    *,
    follow: bool = False,
    queries: Iterable[str] | None = None,
    only_merging: bool = False,
    question: Question | None = None,
) -> AbstractAsyncContextManager[Engine]:
    """Open the engine of a command; with `follow` it reads changes. the rest is as for `read_command`."""
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
        queries=None if queries is None else {*queries, *OF_EVERY_COMMAND},
        applied=source.applied,
        only_merging=only_merging,
        question=question,
    )


async def _ask_of_enough(engine: Engine, ask: Callable[[Engine], Awaitable[_Result]]) -> _Result:
    """Return the result of `ask`. An error may name other objects than the answer, so it comes from all of them."""
    from bridge.opa.errors import QueryError

    try:
        return await ask(engine)
    except (CommandError, QueryError):
        if not await engine.add_withheld():
            raise
    return await ask(engine)


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
        at_fault |= report_at(engine, key, f"PolicyKind/{key.name} is not active: {message}")
    for key, message in await policy_kind_doubts(engine.opa):
        # The kinds that it names may be installed later, and the rest is active: the input has no error.
        report_at(engine, key, f"{key.kind}/{key.name}: {message}", "warning")
    for type_id, about in ({} if _runs("init", "policykind") else await undescribed(engine.opa)).items():
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


def _runs(*words: str) -> bool:
    """Return whether the running command begins with these words: its warnings must not name it as their remedy."""
    ctx = click.get_current_context(silent=True)
    typed = [*ctx.command_path.split()[1:], *ctx.params.get("words", ())] if ctx else []
    return typed[: len(words)] == list(words)


def _report_faults(engine: Engine) -> bool:
    """Print errors of the input, one line each; return whether there were any.

    Rejected Rego of other authors is one warning, because the result is correct without it.
    """
    if forbidden := [one for one in engine.problems if one.forbidden]:
        from bridge.cli.rights import incomplete_line

        print_error(incomplete_line(forbidden))
        unknown = any(one.subject in {CRD, POLICY_KIND} for one in forbidden)
        missing = "Policies of kinds without a preset are missing. " if unknown else ""
        print_error(f"{missing}`pbctl doctor` lists missing permissions. If a bridge runs, --opa URL has all results.")
    for problem in engine.problems:
        if not problem.forbidden:
            print_error(f"error: {problem.subject}: {problem.message}")
    if objects := list(dict.fromkeys(one.subject for one in engine.rejected)):
        hint = "" if _runs("get", "modules") else " (`pbctl get modules` shows why)"
        named = first_of([_subject_name(one) for one in objects], _NAMED)
        print_error(f"warning: rejected Rego is not included in this result: {named}{hint}")
    return bool(engine.problems)


def _subject_name(subject: str) -> str:
    """Return an object's key as `Kind/namespace/name`; another subject, such as a file, as it is."""
    return short_key(parse_key(subject)) if is_key(subject) else subject
